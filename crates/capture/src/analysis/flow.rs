//! One open flow: its addresses, both directions, and the state of its transport.

use std::net::{IpAddr, SocketAddr};

use gamelane_core::FlowKey;

use super::copies::{Copies, PointIndex, Sender};
use super::course::Course;
use super::direction::{Bin, Direction};
use super::game::{Behaviour, behaviour};
use super::games::Kind;
use super::open::{OpenFlow, OpenUpdates};
use super::pace::Pace;
use super::report::{FlowReport, TcpReport, TransportReport, is_conversation};
use super::sink::Sink;
use super::spare::Spare;
use super::timeline::Moments;
use crate::names::Heard;
use crate::orientation::{ClientBy, Evidence, client_to_server, is_private};
use crate::packet::{CapturedPacket, CapturedTransport, TcpFields};
use crate::tcp::connection::{Connection, End};
use crate::tcp::half::Half;
use crate::tcp::rows::{Acknowledged, Method, Retransmission, RoundTrip, Row};

/// An open flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) number: u32,
    pub(super) key: FlowKey,
    pub(super) table_key: TableKey,
    /// The same flow on other interfaces, or with translated addresses.
    pub(super) others: Vec<(TableKey, FlowKey)>,
    interface: u32,
    first_ns: u64,
    pub(super) last_ns: u64,
    directions: [Direction; 2],
    client_by: Option<ClientBy>,
    /// Client and server were exchanged since the first packet.
    exchanged: bool,
    /// Both ends have private addresses.
    pub(super) is_local: bool,
    /// The packets that go in the direction of the first one come from the home.
    first_is_from_home: bool,
    /// Its round trips are kept over time; `None` until it is decided.
    is_witness: Option<bool>,
    /// Trouble and round trips of a TCP connection, by direction.
    moments: [Option<Box<Moments>>; 2],
    transport: Transport,
    heard: Heard,
}

#[derive(Debug)]
enum Transport {
    Udp(Box<Datagrams>),
    Tcp(Box<Connection>),
}

/// State of a UDP conversation.
#[derive(Debug, Default)]
struct Datagrams {
    paces: [Pace; 2],
    /// Bins that wait until the client is known.
    bins: Vec<Bin>,
    began_late: bool,
}

/// Key of a flow in the table, the same for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TableKey {
    low: (u128, u16),
    high: (u128, u16),
    interface_and_protocol: u64,
}

impl Flow {
    /// Opens a flow with its first packet. A TCP connection takes one of `spare`.
    pub(super) fn new(
        number: u32,
        packet: &CapturedPacket,
        table_key: TableKey,
        at_ns: u64,
        spare: &mut Spare,
    ) -> Self {
        let (key, client_by, transport) = match &packet.transport {
            CapturedTransport::Tcp(tcp) => {
                let (key, by) = client_to_server(packet.key, tcp);
                (key, Some(by), Transport::Tcp(spare.take()))
            }
            CapturedTransport::Udp | CapturedTransport::LaterFragment => {
                let datagrams = Datagrams { began_late: at_ns >= LATE_NS, ..Datagrams::default() };
                (packet.key, None, Transport::Udp(Box::new(datagrams)))
            }
        };
        Self {
            number,
            key,
            table_key,
            others: Vec::new(),
            interface: packet.interface,
            first_ns: at_ns,
            last_ns: at_ns,
            directions: [Direction::default(), Direction::default()],
            client_by,
            exchanged: false,
            is_local: is_private(key.source.ip()) && is_private(key.destination.ip()),
            first_is_from_home: is_from_home(&key),
            is_witness: None,
            moments: [None, None],
            transport,
            heard: Heard::default(),
        }
    }

    /// Direction of a packet that belongs to this flow by its addresses, on its first interface.
    #[inline]
    pub(super) fn carries(&self, packet: &CapturedPacket) -> Option<usize> {
        let (own, key) = (&self.key, &packet.key);
        if own.protocol != key.protocol || self.interface != packet.interface {
            return None;
        }
        if own.source == key.source {
            return (own.destination == key.destination).then_some(0);
        }
        (own.source == key.destination && own.destination == key.source).then_some(1)
    }

    /// Direction of a packet of this flow: 0 from the client, 1 from the server.
    #[inline]
    pub(super) fn direction(&self, packet: &CapturedPacket) -> usize {
        if packet.key.source == self.key.source {
            return 0;
        }
        if packet.key.source == self.key.destination {
            return 1;
        }
        usize::from(!self.others.iter().any(|(_, key)| key.source == packet.key.source))
    }

    /// Turns a direction into the one of the first packet's time, before client and server were exchanged, or back.
    pub(super) const fn lasting(&self, direction: usize) -> usize {
        if self.exchanged { 1 - direction } else { direction }
    }

    /// True if packets of a direction come from the home.
    #[inline]
    pub(super) const fn is_from_home(&self, direction: usize) -> bool {
        (self.lasting(direction) == 0) == self.first_is_from_home
    }

    /// Decides whether the round trips of this flow are kept over time. Short connections say nothing about the load. With
    /// thousands of flows, some are enough.
    #[inline]
    pub(super) fn enlist(&mut self, at_ns: u64, witnesses: &mut u32) {
        if self.is_witness.is_none() && at_ns.saturating_sub(self.first_ns) >= SETTLED_NS {
            let is_witness = *witnesses < WITNESSES && matches!(self.transport, Transport::Tcp(_));
            *witnesses += u32::from(is_witness);
            self.is_witness = Some(is_witness);
        }
    }

    /// True if the round trips of this flow are kept over time.
    pub(super) fn is_witness(&self) -> bool {
        self.is_witness == Some(true)
    }

    /// Adds addresses or an interface under which packets of this flow appear too. `key` leads from its client to its
    /// server.
    pub(super) fn join(&mut self, table_key: TableKey, key: FlowKey, interface: u32) {
        self.others.push((table_key, key));
        // Behind a translator the home address names the player.
        if is_private(key.source.ip()) && !is_private(self.key.source.ip()) {
            let (first, last) = ((self.table_key, self.key), self.others.len() - 1);
            (self.table_key, self.key) = self.others[last];
            self.others[last] = first;
            self.interface = interface;
        }
    }

    /// True if the flow may appear under further addresses or interfaces. Their number is bounded.
    pub(super) const fn may_join(&self) -> bool {
        self.others.len() < MAX_OTHERS
    }

    /// All keys of the flow, from client to server.
    pub(super) fn keys(&self) -> impl Iterator<Item = (TableKey, FlowKey)> {
        std::iter::once((self.table_key, self.key)).chain(self.others.iter().copied())
    }

    /// Number of packets of a direction.
    pub(super) const fn packets(&self, direction: usize) -> u64 {
        self.directions[direction].packets
    }

    #[inline]
    pub(super) fn is_reopened_by(&self, packet: &CapturedPacket, direction: usize) -> bool {
        let CapturedTransport::Tcp(tcp) = &packet.transport else { return false };
        tcp.flags.syn
            && matches!(&self.transport, Transport::Tcp(connection) if connection.is_reopened_by(tcp, direction))
    }

    /// Idle time after which the flow has ended.
    pub(super) fn patience_ns(&self) -> u64 {
        let is_over = match &self.transport {
            Transport::Tcp(connection) => matches!(connection.end, End::Closed | End::Reset),
            Transport::Udp(_) => self.packets(0) + self.packets(1) <= A_FEW,
        };
        if is_over { OVER_NS } else { IDLE_NS }
    }

    /// Handles a copy of an earlier packet, from another point.
    pub(super) fn set_aside(&mut self, direction: usize, point: PointIndex, after_ns: u64) {
        self.directions[direction].copies.get_or_insert_default().saw(point, after_ns);
    }

    /// Handles a packet that passed the same point twice.
    pub(super) const fn repeated(&mut self, direction: usize) {
        self.directions[direction].duplicates += 1;
    }

    /// Learns from the identification of a packet.
    #[inline]
    pub(super) fn identify(&mut self, packet: &CapturedPacket, direction: usize) {
        self.directions[direction].identification.saw(packet.identification);
    }

    /// Returns what is known of the sender of a direction.
    pub(super) fn sender(&self, direction: usize) -> Sender {
        let knows_loss = match &self.transport {
            Transport::Tcp(connection) => connection.halves[direction].knows_loss(),
            Transport::Udp(_) => false,
        };
        let counts_identification = self.directions[direction].identification.is_counted();
        Sender { counts_identification, knows_loss }
    }

    /// True if another point had all data of this packet before, in other segments: offloading puts segments together
    /// at one interface and not at the other.
    pub(super) fn is_regrouped(
        &self,
        packet: &CapturedPacket,
        direction: usize,
        point: PointIndex,
        at_ns: u64,
    ) -> bool {
        let (Transport::Tcp(connection), CapturedTransport::Tcp(tcp)) = (&self.transport, &packet.transport)
        else {
            return false;
        };
        !self.others.is_empty()
            && packet.payload_len > 0
            && self.directions[direction].first_point.is_some_and(|first| first != point)
            && connection.halves[direction].is_regrouped(tcp, packet.payload_len, at_ns)
    }

    pub(super) fn handle(
        &mut self,
        packet: &CapturedPacket,
        direction: usize,
        point: PointIndex,
        at_ns: u64,
        sink: &mut impl Sink,
    ) {
        self.last_ns = self.last_ns.max(at_ns);
        self.heard.saw(packet, direction);
        sink.packet(self.number, self.lasting(direction) as u8, packet);
        let own = &mut self.directions[direction];
        own.first_point = Some(point);
        let ended = own.handle(packet, at_ns).map(|bin| self.named(bin, direction));
        match &mut self.transport {
            Transport::Tcp(connection) => {
                if let Some(bin) = ended {
                    sink.bin(&bin);
                }
                if let CapturedTransport::Tcp(tcp) = &packet.transport {
                    let watched = Watched {
                        flow: self.number,
                        moments: &mut self.moments,
                        is_dense: self.directions[direction].is_dense(),
                        usual_ns: connection.halves[1 - direction].far_ns(),
                        is_witness: self.is_witness == Some(true),
                        is_settled: self.is_witness.is_some(),
                    };
                    let resent = connect(connection, packet, tcp, direction, at_ns, watched, sink);
                    self.directions[direction].count_resent(resent);
                }
            }
            Transport::Udp(datagrams) => {
                datagrams.bins.extend(ended);
                if packet.transport == CapturedTransport::Udp && packet.payload_len > 0 {
                    datagrams.paces[direction].saw(at_ns, packet.start);
                }
                self.tell_bins(false, sink);
            }
        }
    }

    const fn named(&self, bin: Bin, direction: usize) -> Bin {
        Bin { flow: self.number, direction: direction as u8, ..bin }
    }

    /// Passes bins of a UDP conversation on, once the client is known.
    fn tell_bins(&mut self, is_over: bool, sink: &mut impl Sink) {
        if self.client_by.is_none() && (is_over || self.is_decided()) {
            self.find_client();
        }
        let Transport::Udp(datagrams) = &mut self.transport else { return };
        if self.client_by.is_some() {
            for bin in datagrams.bins.drain(..) {
                sink.bin(&bin);
            }
        }
    }

    /// True if a UDP conversation has been seen for long enough to tell its client.
    fn is_decided(&self) -> bool {
        let packets = self.directions.iter().map(|direction| direction.packets);
        self.last_ns - self.first_ns >= DECIDED_NS
            && (packets.clone().min() >= Some(DECIDED_PACKETS) || packets.sum::<u64>() >= 8 * DECIDED_PACKETS)
    }

    /// Finds the client of a UDP conversation, which so far is the side of the first packet.
    fn find_client(&mut self) {
        self.directions.iter_mut().for_each(Direction::unstage);
        let Transport::Udp(datagrams) = &mut self.transport else { return };
        let (client, by) = evidence(&self.key, &self.directions, datagrams).client();
        self.client_by = Some(by);
        if client == 1 {
            self.exchanged = true;
            self.key = self.key.reverse();
            self.others.iter_mut().for_each(|(_, key)| *key = key.reverse());
            self.directions.swap(0, 1);
            self.heard.exchange();
            datagrams.paces.swap(0, 1);
            datagrams.bins.iter_mut().for_each(|bin| bin.direction = 1 - bin.direction);
        }
    }

    pub(super) fn is_game(&mut self) -> bool {
        self.so_far().kind != Kind::Other
    }

    /// What is known of the flow so far.
    pub(super) fn so_far(&mut self) -> OpenFlow {
        self.directions.iter_mut().for_each(Direction::unstage);
        let lasted_ns = self.last_ns - self.first_ns;
        let mut so_far =
            OpenFlow { key: self.key, reversed: self.exchanged, kind: Kind::Other, updates: [None; 2] };
        match &mut self.transport {
            Transport::Udp(datagrams) => {
                let updates = [0, 1].map(|n| datagrams.paces[n].updates(&self.directions[n]));
                so_far.kind = behaviour(&self.directions, &updates, lasted_ns).into();
                so_far.updates = updates.map(|updates| {
                    updates.map(|updates| OpenUpdates {
                        tick_ns: updates.is_steady.then_some(updates.tick_ns),
                        missing: updates.numbered.map_or(0, |numbered| numbered.missing),
                    })
                });
                let is_undecided = self.client_by.is_none();
                if is_undecided && evidence(&self.key, &self.directions, datagrams).client().0 == 1 {
                    so_far.key = so_far.key.reverse();
                    so_far.updates.swap(0, 1);
                    so_far.reversed = true;
                }
            }
            Transport::Tcp(connection) => {
                connection.halves.iter_mut().for_each(Half::settle);
                if is_conversation([0, 1].map(|n| &*connection.halves[n].counts), lasted_ns) {
                    so_far.kind = Kind::ThinTcp;
                }
            }
        }
        so_far
    }

    /// Ends the flow and reports it. Its connection is put into `spare`.
    pub(super) fn finish(
        mut self: Box<Self>,
        copies: &Copies,
        course: &mut Course,
        spare: &mut Spare,
        sink: &mut impl Sink,
    ) {
        self.tell_bins(true, sink);
        for direction in 0..2 {
            self.directions[direction].settle();
            if let Some(bin) = self.directions[direction].last_bin() {
                sink.bin(&self.named(bin, direction));
            }
        }
        course.witnesses -= u32::from(self.is_witness());
        let mut least_rtt_ns = [0; 2];
        let mut moments = self.moments;
        let transport = match self.transport {
            Transport::Tcp(mut connection) => {
                least_rtt_ns = [0, 1].map(|n| connection.halves[n].far_ns());
                for n in 0..2 {
                    if let (Some(silences), Some(other)) = (&mut self.directions[n].silences, &moments[1 - n])
                    {
                        silences.settle(other, least_rtt_ns[1 - n]);
                    }
                }
                let report = Box::new(TcpReport::take(&mut connection));
                spare.keep(connection);
                TransportReport::Tcp(report)
            }
            Transport::Udp(mut datagrams) => {
                let mut updates = [0, 1].map(|n| datagrams.paces[n].updates(&self.directions[n]));
                for (updates, direction) in updates.iter_mut().zip(&self.directions) {
                    let is_mirror = direction.first_point.is_some_and(|point| copies.is_mirror(point));
                    let duplicates = if is_mirror { 0 } else { direction.duplicates };
                    updates.iter_mut().for_each(|of| of.duplicated_by_network(duplicates));
                }
                let lasted_ns = self.last_ns - self.first_ns;
                let behaviour = behaviour(&self.directions, &updates, lasted_ns);
                if behaviour != Behaviour::Other {
                    let is_steady = updates.map(|updates| updates.is_some_and(|updates| updates.is_steady));
                    moments = [0, 1].map(|n| datagrams.paces[n].moments(is_steady[n]));
                }
                TransportReport::Udp { behaviour, updates: updates.into() }
            }
        };
        let mut report = FlowReport {
            flow: self.number,
            key: self.key,
            client_by: self.client_by.unwrap_or(ClientBy::Guess),
            exchanged: self.exchanged,
            interface: self.interface,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            directions: self.directions,
            transport,
            heard: self.heard,
            under_load: None,
            kind: Kind::Other,
            load_at_start: course.load_at(self.first_ns),
        };
        report.kind = report.find_kind();
        let is_game = report.kind != Kind::Other;
        if is_game || moments.iter().any(Option::is_some) {
            let moments = moments.map(|moments| moments.map_or_else(Moments::default, |moments| *moments));
            let is_drawn = is_game && sink.is_drawn(self.number);
            let under_load =
                course.add(moments.each_ref(), is_drawn, least_rtt_ns, [report.first_ns, report.last_ns]);
            report.under_load = Some(Box::new(under_load));
        }
        sink.flow(report);
    }
}

/// What tells the client of a UDP conversation.
fn evidence(key: &FlowKey, directions: &[Direction; 2], datagrams: &Datagrams) -> Evidence {
    Evidence {
        ends: [key.source, key.destination],
        packets: [0, 1].map(|n: usize| directions[n].sizes.count()),
        bytes: [0, 1].map(|n: usize| directions[n].payload_bytes),
        began_late: datagrams.began_late,
    }
}

fn connect(
    connection: &mut Connection,
    packet: &CapturedPacket,
    tcp: &TcpFields,
    direction: usize,
    at_ns: u64,
    mut watched: Watched<'_>,
    sink: &mut impl Sink,
) -> bool {
    let number = watched.flow;
    let mut tell = |row| match row {
        Row::RoundTrip(row) => {
            if watched.is_witness {
                watched.round_trip(&row);
            }
            sink.round_trip(&row);
        }
        Row::Retransmission(row) => {
            if watched.is_settled {
                watched.resent(&row);
            }
            sink.retransmission(&row);
        }
        Row::Acknowledged(row) => {
            if row.cause.is_some() && watched.is_settled {
                watched.late(&row);
            }
            sink.acknowledged(&row);
        }
    };
    connection.handle(packet, tcp, number, direction, at_ns, &mut tell)
}

/// Moments of a connection, while one of its packets is handled.
struct Watched<'a> {
    flow: u32,
    moments: &'a mut [Option<Box<Moments>>; 2],
    /// Many packets come from the side that answers.
    is_dense: bool,
    /// Round trips are kept.
    is_witness: bool,
    /// It is no short connection; these keep nothing.
    is_settled: bool,
    /// Smallest round trip to the side that answers.
    usual_ns: u64,
}

impl Watched<'_> {
    #[inline(never)]
    fn round_trip(&mut self, row: &RoundTrip) {
        // A thin stream echoes a timestamp with its next message only, however late that is.
        if row.method == Method::Acknowledgement || row.method == Method::Timestamp && self.is_dense {
            self.of(row.direction).round_trip(row.t_ns, row.rtt_ns);
        }
    }

    #[cold]
    fn resent(&mut self, row: &Retransmission) {
        let before = row.nth == 0;
        self.of(row.direction).lost(row.t_ns, before.into(), (!before).into());
        if before {
            self.of(row.direction).waited(row.t_ns, row.since_first_ns);
        }
    }

    #[cold]
    fn late(&mut self, row: &Acknowledged) {
        let wait_ns = row.delay_ns.saturating_sub(self.usual_ns);
        self.of(row.direction).waited(row.t_ns + row.delay_ns, wait_ns);
    }

    #[inline]
    fn of(&mut self, direction: u8) -> &mut Moments {
        self.moments[usize::from(direction)].get_or_insert_default()
    }
}

/// True if packets with this key come from the home: the side with private addresses, or the side with the higher port.
fn is_from_home(key: &FlowKey) -> bool {
    match [key.source, key.destination].map(|end| is_private(end.ip())) {
        [true, false] => true,
        [false, true] => false,
        _ => key.source.port() >= key.destination.port(),
    }
}

impl TableKey {
    #[inline]
    pub(super) fn of(packet: &CapturedPacket) -> Self {
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

    /// The same addresses on no interface in particular.
    pub(super) const fn anywhere(self) -> Self {
        Self { interface_and_protocol: ANYWHERE | self.interface_and_protocol & 0xff, ..self }
    }
}

/// Interface numbers have 32 bits.
const ANYWHERE: u64 = 1 << 63;
/// A flow that begins this long after the capture did so within it.
const LATE_NS: u64 = 2_000_000_000;
/// Shortest time after which the client of a UDP conversation can be told by its traffic.
const DECIDED_NS: u64 = 2_000_000_000;
/// Packets of each side after which it can be told.
const DECIDED_PACKETS: u64 = 40;
/// Addresses and interfaces of one flow: both sides of two routers with bridges.
const MAX_OTHERS: usize = 8;
/// Idle time after which a flow has ended. TCP's longest back-off is 120 s, and keep-alives of games are shorter.
const IDLE_NS: u64 = 300_000_000_000;
/// The same for a closed connection, and for a question with its answer.
const OVER_NS: u64 = 30_000_000_000;
/// Maximum number of open flows whose round trips are kept.
const WITNESSES: u32 = 256;
/// Age from which a flow keeps moments.
const SETTLED_NS: u64 = 2_000_000_000;
/// Packets of a question and its answer, sent twice.
const A_FEW: u64 = 4;
