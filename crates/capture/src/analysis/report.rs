//! Report of a flow at its end. Single events of the flow are left out; they are rows of the [`Sink`](super::Sink).

use gamelane_core::FlowKey;

use super::direction::Direction;
use super::game::{Behaviour, MAX_MEAN_SIZE, Updates};
use super::games::Kind;
use super::under_load::{Load, UnderLoad};
use crate::names::Heard;
use crate::orientation::ClientBy;
use crate::samples::Samples;
use crate::tcp::cause::Cause;
use crate::tcp::connection::{Connection, End};
use crate::tcp::counts::HalfCounts;
use crate::tcp::half::Half;

/// Report of a flow with both directions.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Number of the flow; flows are numbered in order of their first packets.
    pub flow: u32,
    /// Addresses from client to server.
    pub key: FlowKey,
    /// What tells which side is the client.
    pub client_by: ClientBy,
    /// The client was found after the first packets: [`Sink::packet`](super::Sink::packet) had the directions the other way
    /// round.
    pub exchanged: bool,
    /// Interface of the flow. Copies of its packets on other interfaces were set aside.
    pub interface: u32,
    /// Time of its first packet, since the first packet of the capture.
    pub first_ns: u64,
    /// Time of its last packet, since the first packet of the capture.
    pub last_ns: u64,
    /// From client to server, and from server to client.
    pub directions: [Direction; 2],
    /// Results for the transport protocol.
    pub transport: TransportReport,
    /// What its first packets said about the protocol.
    pub heard: Heard,
    /// Delay, waits and losses by the load of the capture; `None` if it is no game and nothing was measured.
    pub under_load: Option<Box<UnderLoad>>,
    /// Kind of the flow, found once at its end.
    pub(super) kind: Kind,
    /// Load of the capture when the flow began.
    pub load_at_start: Load,
}

impl FlowReport {
    /// Number of packets of both directions.
    pub const fn packets(&self) -> u64 {
        self.directions[0].packets + self.directions[1].packets
    }
}

/// Results for the transport protocol.
#[derive(Clone, Debug)]
pub enum TransportReport {
    /// A UDP conversation.
    Udp {
        /// Kind of the conversation.
        behaviour: Behaviour,
        /// Messages of each direction; `None` if there are fewer than two.
        updates: Box<[Option<Updates>; 2]>,
    },
    /// A TCP connection.
    Tcp(Box<TcpReport>),
}

/// Results for a TCP connection.
#[derive(Clone, Debug)]
pub struct TcpReport {
    /// Data of the client, and data of the server.
    pub halves: [HalfReport; 2],
    /// Round trips from end to end: sums of both parts.
    pub both_rtt: Samples,
    /// Round trip of the handshake from the capture point to each side: `[to the server, to the client]`.
    pub handshake_rtt_ns: [Option<u64>; 2],
    /// True if the capture has the SYN.
    pub from_handshake: bool,
    /// True if both sides permitted SACK.
    pub sack: bool,
    /// End of the connection.
    pub end: End,
}

/// Results for the data of one direction.
#[derive(Clone, Debug)]
pub struct HalfReport {
    /// All counters.
    pub counts: Box<HalfCounts>,
    /// Packets without an acknowledgement at the end.
    pub unacknowledged: u64,
    /// Bytes that never passed, although later bytes did.
    pub missing_bytes: u64,
    /// Cause that ambiguous timed retransmissions count as, from the sender's habits.
    pub settled: Cause,
}

impl HalfReport {
    fn new(half: Half) -> Self {
        let (unacknowledged, missing_bytes) = half.left_open();
        Self { counts: half.counts, unacknowledged, missing_bytes, settled: half.habits.settle() }
    }

    /// True if the stream is thin: 95 % of its packets were sent with fewer than four in flight, including the packet
    /// itself. Then three duplicate ACKs are impossible (Linux `tcp_stream_is_thin`). `None` if it sent too few
    /// packets.
    pub fn is_thin(&self) -> Option<bool> {
        is_thin(&self.counts)
    }

    /// Retransmissions by cause, where ambiguous ones are assigned to one cause.
    pub fn causes(&self) -> [u64; 5] {
        self.settled(self.counts.causes)
    }

    /// Spurious retransmissions by cause, where ambiguous ones are assigned to one cause.
    pub fn spurious(&self) -> [u64; 5] {
        self.settled(self.counts.spurious)
    }

    /// Lag by cause, where ambiguous causes are assigned to one cause.
    pub fn lag_ns(&self) -> [u64; 5] {
        self.settled(self.counts.lag_ns)
    }

    fn settled(&self, mut by_cause: [u64; 5]) -> [u64; 5] {
        let open = std::mem::take(&mut by_cause[Cause::TimeoutOrProbe.index()]);
        by_cause[self.settled.index()] += open;
        by_cause
    }
}

impl TcpReport {
    /// Takes the results of a connection. It begins again, for another flow.
    pub(super) fn take(connection: &mut Connection) -> Self {
        let Connection { halves, both, latest, handshake_rtt_ns, end, scaled, sack } = connection;
        (*latest, *scaled) = ([None; 2], false);
        Self {
            from_handshake: halves[0].syn.is_some(),
            halves: halves.each_mut().map(|half| HalfReport::new(half.renew())),
            both_rtt: std::mem::take(both),
            handshake_rtt_ns: std::mem::take(handshake_rtt_ns),
            sack: std::mem::take(sack) == [true; 2],
            end: std::mem::take(end),
        }
    }
}

fn is_thin(counts: &HalfCounts) -> Option<bool> {
    let in_flight = &counts.packets_in_flight;
    (in_flight.count() >= MIN_PACKETS).then(|| in_flight.quantile(0.95).is_some_and(|most| most < 4.0))
}

/// True if a TCP connection behaves like a game: it lasts, both sides send small messages, and at least one direction is
/// thin. The requests of a video or of a download are thin too, but the answers are large.
pub(super) fn is_conversation(halves: [&HalfCounts; 2], lasted_ns: u64) -> bool {
    lasted_ns >= CONVERSATION_NS
        && halves.iter().all(|counts| counts.data_packets >= CONVERSATION_PACKETS && is_small(counts))
        && halves.iter().any(|counts| is_thin(counts) == Some(true))
}

fn is_small(counts: &HalfCounts) -> bool {
    counts.new_bytes as f64 <= counts.data_packets as f64 * MAX_MEAN_SIZE
}

/// Minimum length of a game.
const CONVERSATION_NS: u64 = 3_000_000_000;
/// Minimum number of data packets in each direction of a game.
const CONVERSATION_PACKETS: u64 = 20;
/// Minimum number of packets to decide whether a stream is thin.
const MIN_PACKETS: u64 = 10;
