//! What simulated packets carry, and where they can be watched.

use core::net::{Ipv4Addr, SocketAddr};

use gamelane_core::{Direction, Duration, FlowKey, Instant, PacketMeta};
use gamelane_tcp::Segment;

/// The body of a packet in the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    /// Which of the flow's consecutive connections it belongs to, from 0.
    pub connection: u16,
    /// Number of the packet within its flow and direction, from 0.
    pub number: u32,
    /// On packets from the server: the last packet of the client it had seen (synthetic packet pair,
    /// reference/measurement.md section 3.1).
    pub echo: Option<Echo>,
    /// Transport payload.
    pub content: Content,
}

/// A client packet as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Its [`Payload::number`].
    pub number: u32,
    /// How long it took from host to host.
    pub one_way: Duration,
}

/// Transport payload.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A UDP datagram with this many payload bytes.
    Datagram(u32),
    /// A datagram of a game that repeats its messages, by its number.
    Repeated(u64),
    /// A TCP segment.
    Segment(Segment),
}

/// A place to watch packets: either side of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tap {
    /// The home network: before the upstream queue, after the downstream link.
    Lan,
    /// The internet: after the upstream link, before the downstream queue.
    Wan,
    /// At the server's host.
    Server,
}

impl Tap {
    /// Where a packet of `direction` is when it enters the hop.
    pub const fn before(direction: Direction) -> Self {
        match direction {
            Direction::Up => Self::Lan,
            Direction::Down => Self::Wan,
        }
    }

    /// Where it is when it leaves.
    pub const fn after(direction: Direction) -> Self {
        Self::before(direction.reverse())
    }
}

/// A packet at a tap.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// When.
    pub at: Instant,
    /// Where.
    pub tap: Tap,
    /// Its direction.
    pub direction: Direction,
    /// What queues see of it.
    pub meta: PacketMeta,
    /// What it carries.
    pub payload: Payload,
}

/// The addresses of a flow's n-th player: the first has the flow's own, the others count up from 100.64.0.0 (RFC 6598).
pub fn player_key(mut key: FlowKey, number: u32) -> FlowKey {
    if number > 0 {
        let address = Ipv4Addr::from_bits(PLAYERS.to_bits() + number);
        let port = key.source.port();
        key.source = SocketAddr::from((address, port));
    }
    key
}

/// Shared address space of providers.
const PLAYERS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);

/// The addresses of a flow's n-th connection. The client's port, the one in the dynamic range, counts up.
pub fn connection_key(mut key: FlowKey, connection: u16) -> FlowKey {
    let client =
        if key.source.port() >= key.destination.port() { &mut key.source } else { &mut key.destination };
    client.set_port(client.port().wrapping_add(connection));
    key
}
