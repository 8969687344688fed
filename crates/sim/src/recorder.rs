//! What a run tells: typed events, pushed into a [`Recorder`]. The recorder decides what to keep; the engine never waits
//! for it.

use gamelane_core::{Bitrate, Direction, DropReason, Duration, FlowId, Instant, PacketMeta};
use gamelane_qdisc::Backlog;
use gamelane_tcp::TcpObservation;
use gamelane_tcp::accounting::PacketHistory;
use gamelane_traffic::AppReport;

use crate::payload::{Payload, Tap};

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At home.
    Client,
    /// On the internet.
    Server,
}

impl Side {
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
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A host handed a packet to the network.
    Sent {
        /// Which way it goes.
        direction: Direction,
        /// The packet.
        meta: &'a PacketMeta,
    },
    /// A packet arrived at the other host.
    Received {
        /// Which way it went.
        direction: Direction,
        /// The packet; `waited` is its queue delay.
        meta: &'a PacketMeta,
    },
    /// A packet was lost.
    Dropped {
        /// Which way it went.
        direction: Direction,
        /// The packet.
        meta: &'a PacketMeta,
        /// Why.
        reason: DropReason,
    },
    /// A queue marked a packet.
    Marked {
        /// Which way it goes.
        direction: Direction,
        /// The packet.
        meta: &'a PacketMeta,
    },
    /// A packet pair gave a round-trip time.
    Rtt {
        /// Of this flow.
        flow: FlowId,
        /// Network time only: what the hosts took in between is left out.
        rtt: Duration,
    },
    /// Application bytes arrived in order.
    Goodput {
        /// Of this flow.
        flow: FlowId,
        /// How many.
        bytes: u64,
    },
    /// An application reported.
    App {
        /// Of this flow.
        flow: FlowId,
        /// What.
        report: AppReport,
    },
    /// The queues of a direction together, sampled.
    Queue {
        /// Which.
        direction: Direction,
        /// What waits.
        backlog: Backlog,
    },
    /// A shaper that follows its link, sampled.
    Rate {
        /// Which.
        direction: Direction,
        /// What it shapes to.
        shaped: Bitrate,
        /// What the link behind it has, where that is known.
        link: Option<Bitrate>,
    },
    /// A TCP endpoint, sampled.
    Tcp {
        /// Of this flow.
        flow: FlowId,
        /// Which end.
        side: Side,
        /// Its state.
        observation: TcpObservation,
    },
    /// A message of a game over TCP was delivered.
    Delivered {
        /// On this connection.
        flow: FlowId,
        /// Which way it went.
        direction: Direction,
        /// Whose it is.
        player: u32,
        /// From the write to the delivery.
        delay: Duration,
        /// How long of that it lay complete behind what was lost before it.
        held: Duration,
    },
    /// A packet of a game over TCP that the server had sent more than once was acknowledged.
    Retransmitted {
        /// On this connection.
        flow: FlowId,
        /// Its life.
        history: &'a PacketHistory,
    },
    /// A packet passes a tap.
    Passed {
        /// Where.
        tap: Tap,
        /// Which way it goes.
        direction: Direction,
        /// What queues see of it.
        meta: &'a PacketMeta,
        /// What it carries.
        payload: &'a Payload,
    },
}

/// Receives every event of a run in order of time.
pub trait Recorder {
    /// Whether [`Event::Passed`] is wanted; it costs a copy of every packet.
    fn wants_packets(&self) -> bool {
        false
    }

    /// `event` happened at `at`.
    fn record(&mut self, at: Instant, event: &Event<'_>);
}
