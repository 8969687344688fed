//! Payloads of simulated packets, and the points where packets can be captured.

use core::net::{Ipv4Addr, SocketAddr};

use gamelane_core::{Direction, Duration, FlowKey, Instant, PacketMeta};
use gamelane_scenario::FlowModel;
use gamelane_tcp::Segment;
use gamelane_traffic::config::AppConfig;

/// The body of a packet in the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    /// Number of its connection among the consecutive connections of the flow, from 0.
    pub connection: u16,
    /// Number of the packet within its flow and direction, from 0.
    pub number: u32,
    /// On packets from the server: the last client packet that the server had received. The two are a synthetic packet pair, as
    /// in the SPP tool of CAIA (S. Zander et al.).
    pub echo: Option<Echo>,
    /// Transport payload.
    pub content: Content,
}

/// A client packet as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Its [`Payload::number`].
    pub number: u32,
    /// Its time from host to host.
    pub one_way: Duration,
}

/// Transport payload.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A UDP datagram with this many payload bytes.
    Datagram(u32),
    /// Number of a datagram that repeats unacknowledged messages.
    Repeated(u64),
    /// A TCP segment.
    Segment(Segment),
}

/// A capture point.
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
    /// The side where packets of `direction` enter the gateway.
    pub const fn before(direction: Direction) -> Self {
        match direction {
            Direction::Up => Self::Lan,
            Direction::Down => Self::Wan,
        }
    }

    /// The side where packets of `direction` leave the gateway.
    pub const fn after(direction: Direction) -> Self {
        Self::before(direction.reverse())
    }
}

/// A packet at a tap.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Time.
    pub at: Instant,
    /// Capture point.
    pub tap: Tap,
    /// Its direction.
    pub direction: Direction,
    /// Fields that queues see.
    pub meta: PacketMeta,
    /// Payload.
    pub payload: Payload,
}

/// Addresses of connection `number` of a flow. Those of a transfer count up the client's port. Players have addresses of
/// their own.
pub fn lane_key(flow: &FlowModel, number: u32) -> FlowKey {
    match flow.app {
        AppConfig::Bulk(_) => connection_key(flow.key, number as u16),
        _ => player_key(flow.key, number),
    }
}

/// Addresses of the n-th player of a flow. The first has those of the flow; the others have 100.64.0.0 + n (RFC 6598).
fn player_key(mut key: FlowKey, number: u32) -> FlowKey {
    if number > 0 {
        let address = Ipv4Addr::from_bits(PLAYERS.to_bits() + number);
        let port = key.source.port();
        key.source = SocketAddr::from((address, port));
    }
    key
}

/// Start of the shared address space (RFC 6598 section 7).
const PLAYERS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 0);

/// Addresses of the n-th connection of a flow: n is added to the client's port, the higher of the two.
pub fn connection_key(mut key: FlowKey, connection: u16) -> FlowKey {
    let client =
        if key.source.port() >= key.destination.port() { &mut key.source } else { &mut key.destination };
    client.set_port(client.port().wrapping_add(connection));
    key
}
