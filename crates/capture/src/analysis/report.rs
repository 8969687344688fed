//! What is known of a flow when it has ended.

use gamelane_core::FlowKey;
use gamelane_tcp::accounting::RetransmissionTotals;

use super::direction::Direction;
use super::game::{Behaviour, Updates};
use crate::samples::Samples;
use crate::tcp::cause::{Cause, Habits};
use crate::tcp::connection::{Connection, End};
use crate::tcp::counts::HalfCounts;

/// A flow, both directions.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Its number: flows count up in order of their first packets.
    pub flow: u32,
    /// From the client to the server.
    pub key: FlowKey,
    /// Position in the file of the interface it was seen on.
    pub interface: u32,
    /// Its first packet, since the capture's first.
    pub first_ns: u64,
    /// Its last packet.
    pub last_ns: u64,
    /// Client to server, server to client.
    pub directions: [Direction; 2],
    /// What its transport says.
    pub transport: TransportReport,
}

impl FlowReport {
    /// Packets of both directions.
    pub const fn packets(&self) -> u64 {
        self.directions[0].packets + self.directions[1].packets
    }
}

/// What the transport says.
#[derive(Clone, Debug)]
pub enum TransportReport {
    /// UDP: messages.
    Udp {
        /// What the conversation behaves like.
        behaviour: Behaviour,
        /// Each direction's messages; `None` if there are fewer than two.
        updates: [Option<Updates>; 2],
    },
    /// TCP: a connection.
    Tcp(Box<TcpReport>),
}

/// A TCP connection.
#[derive(Clone, Debug)]
pub struct TcpReport {
    /// Data of the client, data of the server.
    pub halves: [HalfReport; 2],
    /// Round trips from end to end: sums of both halves.
    pub both_rtt: Samples,
    /// From the SYN to its answer, through the capture point's far side each: `[to the server, to the client]`.
    pub handshake_rtt_ns: [Option<u64>; 2],
    /// Whether the SYN is in the capture.
    pub from_handshake: bool,
    /// Whether selective acknowledgements are in use.
    pub sack: bool,
    /// How it ended.
    pub end: End,
}

/// One direction's data.
#[derive(Clone, Debug)]
pub struct HalfReport {
    /// Everything counted.
    pub counts: HalfCounts,
    /// Retransmissions by number, as S4's table 2 counts them.
    pub totals: RetransmissionTotals,
    /// Packets not acknowledged at the end.
    pub unacknowledged: u64,
    /// Bytes that others were sent after, and that never passed.
    pub missing_bytes: u64,
    /// What timed retransmissions that could be either are, as the sender's habits tell.
    pub settled: Cause,
}

impl HalfReport {
    /// Whether the stream is thin: 95 % of its packets were sent with fewer than four in flight, themselves included
    /// (reference/tcp.md section 3), so that no three duplicate ACKs can come back. `None` if it sent too little to tell.
    pub fn is_thin(&self) -> Option<bool> {
        is_thin(&self.counts)
    }

    /// Retransmissions by cause, with what could be either settled.
    pub fn causes(&self) -> [u64; 5] {
        self.settled(self.counts.causes)
    }

    /// Spurious ones likewise.
    pub fn spurious(&self) -> [u64; 5] {
        self.settled(self.counts.spurious)
    }

    /// Lag by cause likewise.
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
    pub(super) fn new(connection: Connection) -> Self {
        let (from_handshake, sack) = (connection.halves[0].syn.is_some(), connection.has_sack());
        let Connection { halves, mut both, handshake_rtt_ns, end, .. } = connection;
        both.settle();
        let habits: [Habits; 2] = [halves[0].habits, halves[1].habits];
        let mut habits = habits.into_iter();
        let halves = halves.map(|mut half| {
            half.counts.settle();
            let (unacknowledged, missing_bytes) = half.left_open();
            let settled = habits.next().unwrap_or_default().settle();
            HalfReport { counts: half.counts, totals: half.totals, unacknowledged, missing_bytes, settled }
        });
        Self { halves, both_rtt: both, handshake_rtt_ns, from_handshake, sack, end }
    }
}

fn is_thin(counts: &HalfCounts) -> Option<bool> {
    let in_flight = &counts.packets_in_flight;
    (in_flight.count() >= MIN_PACKETS).then(|| in_flight.quantile(0.95).is_some_and(|most| most < 4.0))
}

/// Whether a TCP connection behaves like a game: it lasts, both sides talk, and one is thin at least.
pub(super) fn is_conversation(halves: [&HalfCounts; 2], lasted_ns: u64) -> bool {
    lasted_ns >= CONVERSATION_NS
        && halves.iter().all(|counts| counts.data_packets >= CONVERSATION_PACKETS)
        && halves.iter().any(|counts| is_thin(counts) == Some(true))
}

/// Shorter exchanges are no game.
const CONVERSATION_NS: u64 = 3_000_000_000;
/// Nor are those of fewer packets of data in one direction.
const CONVERSATION_PACKETS: u64 = 20;
/// Fewer packets say nothing of a stream's thickness.
const MIN_PACKETS: u64 = 10;
