//! Table of the open flows, by addresses, ports, protocol and interface in either direction. Flows that were idle for
//! long are closed and reported. So are the idlest flows if there are too many, so memory stays bounded.

use hashbrown::HashMap;
use std::net::{IpAddr, SocketAddr};

use gamelane_core::FlowKey;

use super::direction::Direction;
use super::game::{Behaviour, behaviour};
use super::pace::Pace;
use super::report::{FlowReport, TcpReport, TransportReport, is_conversation};
use super::sink::Sink;
use crate::packet::{CapturedPacket, CapturedTransport};
use crate::tcp::connection::Connection;
use crate::tcp::rows::Row;
use crate::writes::client_to_server;

/// An open flow.
#[derive(Debug)]
pub(super) struct Flow {
    number: u32,
    key: FlowKey,
    place: Place,
    interface: u32,
    first_ns: u64,
    last_ns: u64,
    directions: [Direction; 2],
    transport: Transport,
}

#[derive(Debug)]
enum Transport {
    Udp(Box<[Pace; 2]>),
    Tcp(Box<Connection>),
}

/// Key of a flow in the table, the same for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    low: (u128, u16),
    high: (u128, u16),
    interface_and_protocol: u64,
}

/// All open flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Index in `flows` by key. Never iterated, because the order is random.
    known: HashMap<Place, u32>,
    flows: Vec<Flow>,
    /// Indices in `flows` of recently used flows, by [`slot`]. Most packets are found here without a hash.
    lately: Vec<u32>,
    /// Number of flows so far.
    number: u32,
    looked_ns: u64,
}

impl Flows {
    /// Handles a packet at `at_ns` since the first packet of the capture.
    pub(super) fn handle(&mut self, packet: &CapturedPacket, at_ns: u64, sink: &mut impl Sink) {
        if at_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
            self.looked_ns = at_ns;
            self.close(sink, |flow| at_ns.saturating_sub(flow.last_ns) >= IDLE_NS);
        }
        let slot = slot(packet);
        let lately = self.lately.get(slot).map_or(0, |&at| at as usize);
        let at = match self.flows.get(lately) {
            Some(flow) if flow.carries(packet) => lately,
            _ => self.find(packet, slot, at_ns, sink),
        };
        let at = if self.flows[at].is_reopened_by(packet) {
            let ended = self.flows.swap_remove(at);
            self.known.remove(&ended.place);
            self.moved(at);
            ended.finish(sink);
            self.find(packet, slot, at_ns, sink)
        } else {
            at
        };
        self.flows[at].handle(packet, at_ns, sink);
    }

    fn find(&mut self, packet: &CapturedPacket, slot: usize, at_ns: u64, sink: &mut impl Sink) -> usize {
        let place = Place::of(packet);
        let at = match self.known.get(&place) {
            Some(&at) => at as usize,
            None => self.open(packet, place, at_ns, sink),
        };
        self.lately.resize(LATELY, 0);
        self.lately[slot] = at as u32;
        at
    }

    /// Ends all flows at the end of the capture.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        self.close(sink, |_| true);
    }

    /// Number of flows so far, including the open ones.
    pub(super) const fn count(&self) -> u32 {
        self.number
    }

    /// Number of open flows that behave like a game so far.
    pub(super) fn games(&self) -> usize {
        self.flows.iter().filter(|flow| flow.is_game()).count()
    }

    fn open(&mut self, packet: &CapturedPacket, place: Place, at_ns: u64, sink: &mut impl Sink) -> usize {
        if self.flows.len() == MAX_FLOWS {
            let mut last: Vec<u64> = self.flows.iter().map(|flow| flow.last_ns).collect();
            let quarter = MAX_FLOWS / 4;
            let until = *last.select_nth_unstable(quarter).1;
            self.close(sink, |flow| flow.last_ns <= until);
        }
        self.known.insert(place, self.flows.len() as u32);
        self.flows.push(Flow::new(self.number, packet, place, at_ns));
        self.number += 1;
        self.flows.len() - 1
    }

    /// Closes flows in the order of their numbers.
    fn close(&mut self, sink: &mut impl Sink, ends: impl Fn(&Flow) -> bool) {
        let mut ended = Vec::new();
        let mut at = 0;
        while at < self.flows.len() {
            if ends(&self.flows[at]) {
                let flow = self.flows.swap_remove(at);
                self.known.remove(&flow.place);
                self.moved(at);
                ended.push(flow);
            } else {
                at += 1;
            }
        }
        ended.sort_unstable_by_key(|flow| flow.number);
        for flow in ended {
            flow.finish(sink);
        }
    }

    /// Updates the key of the flow that was moved to index `at`.
    fn moved(&mut self, at: usize) {
        if let Some(flow) = self.flows.get(at) {
            self.known.insert(flow.place, at as u32);
        }
    }
}

impl Flow {
    fn new(number: u32, packet: &CapturedPacket, place: Place, at_ns: u64) -> Self {
        let (key, transport) = match &packet.transport {
            CapturedTransport::Tcp(tcp) => {
                (client_to_server(packet.key, tcp), Transport::Tcp(Box::default()))
            }
            CapturedTransport::Udp | CapturedTransport::LaterFragment => {
                (by_ports(packet.key), Transport::Udp(Box::default()))
            }
        };
        let interface = packet.interface;
        let directions = [Direction::default(), Direction::default()];
        Self { number, key, place, interface, first_ns: at_ns, last_ns: at_ns, directions, transport }
    }

    /// True if the packet belongs to this flow, in either direction.
    #[inline]
    fn carries(&self, packet: &CapturedPacket) -> bool {
        let (own, key) = (&self.key, &packet.key);
        let same = (own.source == key.source && own.destination == key.destination)
            || (own.source == key.destination && own.destination == key.source);
        same && own.protocol == key.protocol && self.interface == packet.interface
    }

    fn is_reopened_by(&self, packet: &CapturedPacket) -> bool {
        match (&self.transport, &packet.transport) {
            (Transport::Tcp(connection), CapturedTransport::Tcp(tcp)) if tcp.flags.syn => {
                connection.is_reopened_by(tcp, usize::from(packet.key.source != self.key.source))
            }
            _ => false,
        }
    }

    fn handle(&mut self, packet: &CapturedPacket, at_ns: u64, sink: &mut impl Sink) {
        let direction = usize::from(packet.key.source != self.key.source);
        self.last_ns = self.last_ns.max(at_ns);
        sink.packet(self.number, direction as u8, packet);
        if let Some(mut bin) = self.directions[direction].handle(packet, at_ns) {
            (bin.flow, bin.direction) = (self.number, direction as u8);
            sink.bin(&bin);
        }
        match (&mut self.transport, &packet.transport) {
            (Transport::Tcp(connection), CapturedTransport::Tcp(tcp)) => {
                let mut tell = |row| match row {
                    Row::RoundTrip(row) => sink.round_trip(&row),
                    Row::Retransmission(row) => sink.retransmission(&row),
                    Row::Acknowledged(row) => sink.acknowledged(&row),
                };
                let resent = connection.handle(packet, tcp, self.number, direction, at_ns, &mut tell);
                self.directions[direction].count_resent(resent);
            }
            (Transport::Udp(paces), CapturedTransport::Udp) if packet.payload_len > 0 => {
                paces[direction].saw(at_ns, packet.start);
            }
            _ => {}
        }
    }

    fn is_game(&self) -> bool {
        let lasted_ns = self.last_ns - self.first_ns;
        match &self.transport {
            Transport::Udp(paces) => {
                let updates = [0, 1].map(|n| paces[n].updates(&self.directions[n]));
                behaviour(&self.directions, &updates, lasted_ns) != Behaviour::Other
            }
            Transport::Tcp(connection) => {
                is_conversation([0, 1].map(|n| &connection.halves[n].counts), lasted_ns)
            }
        }
    }

    fn finish(mut self, sink: &mut impl Sink) {
        for (direction, of) in self.directions.iter_mut().enumerate() {
            of.settle();
            if let Some(mut bin) = of.last_bin() {
                (bin.flow, bin.direction) = (self.number, direction as u8);
                sink.bin(&bin);
            }
        }
        let transport = match self.transport {
            Transport::Tcp(connection) => TransportReport::Tcp(Box::new(TcpReport::new(*connection))),
            Transport::Udp(paces) => {
                let updates = [paces[0].updates(&self.directions[0]), paces[1].updates(&self.directions[1])];
                let lasted_ns = self.last_ns - self.first_ns;
                let behaviour = behaviour(&self.directions, &updates, lasted_ns);
                TransportReport::Udp { behaviour, updates: updates.into() }
            }
        };
        let Self { number, key, interface, first_ns, last_ns, directions, .. } = self;
        sink.flow(FlowReport { flow: number, key, interface, first_ns, last_ns, directions, transport });
    }
}

impl Place {
    #[inline]
    fn of(packet: &CapturedPacket) -> Self {
        let end = |end: SocketAddr| match end.ip() {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()), end.port()),
            IpAddr::V6(v6) => (v6.to_bits(), end.port()),
        };
        let (source, destination) = (end(packet.key.source), end(packet.key.destination));
        let protocol = u64::from(packet.key.protocol.number());
        let interface_and_protocol = u64::from(packet.interface) << 8 | protocol;
        let (low, high) = if source <= destination { (source, destination) } else { (destination, source) };
        Self { low, high, interface_and_protocol }
    }
}

/// Slot of a packet's flow in [`Flows::lately`]. It is the same for both directions, and different for most flows.
#[inline]
fn slot(packet: &CapturedPacket) -> usize {
    let end = |end: SocketAddr| match end {
        SocketAddr::V4(v4) => u64::from(v4.ip().to_bits()) << 16 ^ u64::from(v4.port()),
        SocketAddr::V6(v6) => v6.ip().to_bits() as u64 ^ u64::from(v6.port()) << 32,
    };
    let both = end(packet.key.source).wrapping_add(end(packet.key.destination));
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - LATELY.trailing_zeros())) as usize
}

/// Guesses the client from the ports: servers listen on low ones. With equal ports, the client sent the first packet.
fn by_ports(key: FlowKey) -> FlowKey {
    if key.source.port() >= key.destination.port() { key } else { key.reverse() }
}

/// Number of slots: 4 KiB.
const LATELY: usize = 1 << 10;
/// Maximum number of open flows.
const MAX_FLOWS: usize = 16_384;
/// Interval of the search for idle flows, in capture time.
const LOOK_NS: u64 = 10_000_000_000;
/// Idle time after which a flow has ended. TCP's longest back-off is 120 s, and keep-alives of games are shorter.
const IDLE_NS: u64 = 300_000_000_000;
