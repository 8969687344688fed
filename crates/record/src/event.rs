//! What engines report while a run goes on: typed events, pushed into a [`Recorder`]. The recorder decides what to keep; an
//! engine never waits for it.

use gamelane_core::{
    Bitrate, ByteCount, Direction, DropReason, Duration, FlowId, Instant, IpLen, PacketMeta,
};
use gamelane_qdisc::Backlog;
use gamelane_tcp::TcpObservation;
use gamelane_tcp::accounting::PacketHistory;
use gamelane_traffic::AppReport;

/// Receives events.
pub trait Recorder {
    /// Takes an event that happened at time `at`. Engines call it in order of time.
    fn record(&mut self, at: Instant, event: &Event<'_>);
}

/// Discards all events, for benchmarks of an engine alone.
impl Recorder for () {
    fn record(&mut self, _: Instant, _: &Event<'_>) {}
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At home.
    Client,
    /// On the internet.
    Server,
}

impl Side {
    /// Both ends, the client first.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The direction its packets take.
    pub const fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::Up,
            Self::Server => Direction::Down,
        }
    }

    /// The other end.
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// `client` or `server`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The fields of a packet that records need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its connection, numbered as [`gamelane_scenario::Model::lanes`] does.
    pub lane: FlowId,
    /// IP length.
    pub len: IpLen,
    /// When its sender handed it to the network.
    pub sent_at: Instant,
    /// How long it has waited in queues so far.
    pub waited: Duration,
}

impl From<&PacketMeta> for Seen {
    fn from(meta: &PacketMeta) -> Self {
        Self { lane: meta.flow, len: meta.len, sent_at: meta.sent_at, waited: meta.waited }
    }
}

/// A TCP endpoint at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpState {
    /// Congestion window.
    pub cwnd: ByteCount,
    /// Slow start threshold; `None` before the first loss.
    pub ssthresh: Option<ByteCount>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Bytes the sender believes to be in the network.
    pub in_flight: ByteCount,
}

impl From<TcpObservation> for TcpState {
    fn from(of: TcpObservation) -> Self {
        Self {
            cwnd: of.cwnd,
            ssthresh: Some(of.ssthresh).filter(|threshold| threshold.bytes() < u64::MAX),
            srtt: of.srtt,
            rto: of.rto,
            in_flight: of.bytes_in_flight,
        }
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A host handed a packet to the network.
    Sent {
        /// Its direction.
        direction: Direction,
        /// The packet.
        packet: Seen,
    },
    /// A packet arrived at the other host.
    Received {
        /// Its direction.
        direction: Direction,
        /// The packet; `waited` is its queue delay.
        packet: Seen,
    },
    /// A packet arrived, and nobody knows when it was sent: the sender is on another host whose clock differs.
    Heard {
        /// Its direction.
        direction: Direction,
        /// Its connection.
        lane: FlowId,
        /// IP length.
        len: IpLen,
    },
    /// A packet was lost.
    Dropped {
        /// Its direction.
        direction: Direction,
        /// The packet.
        packet: Seen,
        /// Why.
        reason: DropReason,
    },
    /// A queue marked a packet with Congestion Experienced (RFC 3168).
    Marked {
        /// Its direction.
        direction: Direction,
        /// The packet.
        packet: Seen,
    },
    /// A packet pair gave a round-trip time ([`crate::pairs`]).
    Rtt {
        /// Connection.
        lane: FlowId,
        /// Network time only, without the time between the two packets at the server.
        rtt: Duration,
    },
    /// The application measured a round trip itself, by an echo in its packets.
    Echo {
        /// Connection.
        lane: FlowId,
        /// Round-trip time.
        rtt: Duration,
    },
    /// Application bytes arrived in order.
    Goodput {
        /// Connection.
        lane: FlowId,
        /// Bytes.
        bytes: u64,
    },
    /// An application reported.
    App {
        /// Connection.
        lane: FlowId,
        /// The report.
        report: AppReport,
    },
    /// Backlog of all queues of a direction together, sampled.
    Queue {
        /// Direction.
        direction: Direction,
        /// Packets and bytes that wait.
        backlog: Backlog,
    },
    /// Rate of a shaper that follows its link, sampled.
    Rate {
        /// Direction.
        direction: Direction,
        /// Rate of the shaper.
        shaped: Bitrate,
        /// Rate of the link behind it, where one is known.
        link: Option<Bitrate>,
    },
    /// State of a TCP endpoint, sampled.
    Tcp {
        /// Position of the flow in the scenario.
        flow: u32,
        /// Number of the connection within the flow.
        connection: u32,
        /// Which end.
        side: Side,
        /// Its state.
        state: TcpState,
    },
    /// A message of a game over TCP reached its application.
    Delivered {
        /// Connection.
        lane: FlowId,
        /// Direction of the message.
        direction: Direction,
        /// Player the message belongs to.
        player: u32,
        /// Time from the write to the delivery.
        delay: Duration,
        /// Part of `delay` that the complete message waited for earlier, lost data (head-of-line blocking).
        held: Duration,
    },
    /// A packet that the server of a game over TCP had sent more than once was acknowledged.
    Retransmitted {
        /// Connection.
        lane: FlowId,
        /// When and how often it was sent.
        history: &'a PacketHistory,
    },
}
