//! Table of the open flows, by addresses, ports, protocol and interface in either direction. Packets that appear on
//! several interfaces, or with translated addresses, are joined to one flow (`copies`). Flows that were idle for long
//! are closed and reported. So are the idlest flows if there are too many, so memory stays bounded.

use hashbrown::HashMap;
use std::net::SocketAddr;

use gamelane_core::FlowKey;

use super::copies::{self, Copies, Owner, PointIndex, Sender, Sight};
use super::course::Course;
use super::flow::{Flow, TableKey};
use super::open::OpenFlow;
use super::sink::Sink;
use super::spare::Spare;
use super::timeline::Timeline;
use crate::packet::CapturedPacket;

/// All open flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Index in `flows` by key. Never iterated, because the order is random.
    known: HashMap<TableKey, u32>,
    #[expect(clippy::vec_box, reason = "a flow has 1 KiB, and the last one moves when another is closed")]
    flows: Vec<Box<Flow>>,
    /// Index in `flows` by number.
    numbers: HashMap<u32, u32>,
    /// Packets came from several points. From then on `known` has the keys of no interface, too.
    has_points: bool,
    /// Indices in `flows` of recently used flows, by [`slot`]. Most packets are found here without a hash.
    lately: Vec<u32>,
    /// Number of flows so far.
    number: u32,
    /// Those of them that turned out to be another flow, seen elsewhere.
    absorbed: u32,
    copies: Copies,
    spare: Spare,
    /// Packets that were copies of others.
    set_aside: u64,
    looked_ns: u64,
    course: Course,
}

impl Flows {
    /// Handles a packet at `at_ns` since the first packet of the capture.
    pub(super) fn handle(&mut self, packet: &CapturedPacket, at_ns: u64, sink: &mut impl Sink) {
        if at_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
            self.looked_ns = at_ns;
            self.close(sink, |flow| at_ns.saturating_sub(flow.last_ns) >= flow.patience_ns());
        }
        let point = self.copies.point(packet);
        if point > 0 && !self.has_points {
            self.expect_copies();
        }
        let slot = slot(packet);
        let lately = self.lately.get(slot).map_or(0, |&at| at as usize);
        let found = self.flows.get(lately).and_then(|flow| flow.carries(packet));
        let (mut at, mut direction) = match found {
            Some(direction) => (lately, direction),
            None => self.find(packet, slot, point, at_ns, sink),
        };
        if self.flows[at].is_reopened_by(packet, direction) {
            let flow = self.remove(at);
            flow.finish(&self.copies, &mut self.course, &mut self.spare, sink);
            (at, direction) = self.find(packet, slot, point, at_ns, sink);
        }
        let owner = self.owner(at, direction);
        let flow = &mut self.flows[at];
        flow.identify(packet, direction);
        match self.copies.saw(packet, owner, point, at_ns, || flow.sender(direction)) {
            Sight::First => self.first(at, packet, direction, point, at_ns, sink),
            Sight::Copy { after_ns } => self.set_aside(at, direction, point, after_ns),
            Sight::Repeated => {
                self.set_aside += 1;
                self.flows[at].repeated(direction);
            }
        }
    }

    /// Makes the open flows known under the keys by which copies of their packets are found.
    #[cold]
    fn expect_copies(&mut self) {
        self.has_points = true;
        for (at, flow) in (0..).zip(&self.flows) {
            self.known.insert(flow.table_key.anywhere(), at);
        }
    }

    /// Handles a packet that was not seen before under its addresses.
    fn first(
        &mut self,
        at: usize,
        packet: &CapturedPacket,
        direction: usize,
        point: PointIndex,
        at_ns: u64,
        sink: &mut impl Sink,
    ) {
        if self.copies.points() > 1 {
            let own = self.flows[at].packets(0) + self.flows[at].packets(1);
            if own < YOUNG
                && let Some((other, direction)) =
                    self.copied(packet, point, at_ns).filter(|found| found.0 != at)
            {
                let into = self.absorb(at, other, packet, direction, sink);
                let owner = self.owner(into, direction);
                return match self.copies.saw(packet, owner, point, at_ns, Sender::default) {
                    Sight::Copy { after_ns } => self.set_aside(into, direction, point, after_ns),
                    _ => self.pass(into, packet, direction, point, at_ns, sink),
                };
            }
            if self.flows[at].is_regrouped(packet, direction, point, at_ns) {
                return self.set_aside(at, direction, point, 0);
            }
        }
        self.pass(at, packet, direction, point, at_ns, sink);
    }

    /// Handles a packet that is no copy, of a flow that is known.
    #[inline]
    fn pass(
        &mut self,
        at: usize,
        packet: &CapturedPacket,
        direction: usize,
        point: PointIndex,
        at_ns: u64,
        sink: &mut impl Sink,
    ) {
        let flow = &mut self.flows[at];
        self.course.timeline.load(at_ns, flow.is_from_home(direction), packet.ip_len.0.into(), flow.is_local);
        flow.enlist(at_ns, &mut self.course.witnesses);
        flow.handle(packet, direction, point, at_ns, sink);
    }

    /// The flow at `young` turns out to be the one at `into`, seen elsewhere. `direction` is that of `packet` in the
    /// latter. Returns the index of that one.
    fn absorb(
        &mut self,
        young: usize,
        into: usize,
        packet: &CapturedPacket,
        direction: usize,
        sink: &mut impl Sink,
    ) -> usize {
        let number = self.flows[into].number;
        let same_way = self.flows[young].direction(packet) == direction;
        let gone = self.remove(young);
        self.course.witnesses -= u32::from(gone.is_witness());
        sink.absorbed(gone.number);
        self.set_aside += gone.packets(0) + gone.packets(1);
        self.absorbed += 1;
        let into = self.index(number).expect("the other flow is still open");
        for (table_key, key) in gone.keys() {
            self.join(into, table_key, if same_way { key } else { key.reverse() }, packet.interface);
        }
        into
    }

    fn set_aside(&mut self, at: usize, direction: usize, point: PointIndex, after_ns: u64) {
        self.set_aside += 1;
        self.flows[at].set_aside(direction, point, after_ns);
    }

    fn owner(&self, at: usize, direction: usize) -> Owner {
        let flow = &self.flows[at];
        Owner { flow: flow.number, direction: flow.lasting(direction) as u8 }
    }

    fn find(
        &mut self,
        packet: &CapturedPacket,
        slot: usize,
        here: PointIndex,
        at_ns: u64,
        sink: &mut impl Sink,
    ) -> (usize, usize) {
        let table_key = TableKey::of(packet);
        let at = match self.known.get(&table_key) {
            Some(&at) => at as usize,
            None => match self.elsewhere(packet, table_key, here, at_ns) {
                Some((at, direction)) => {
                    let key = if direction == 0 { packet.key } else { packet.key.reverse() };
                    self.join(at, table_key, key, packet.interface);
                    at
                }
                None => self.open(packet, table_key, at_ns, sink),
            },
        };
        self.lately.resize(LATELY, 0);
        self.lately[slot] = at as u32;
        (at, self.flows[at].direction(packet))
    }

    /// Returns the flow that a packet with unknown addresses or interface belongs to, and its direction.
    fn elsewhere(
        &mut self,
        packet: &CapturedPacket,
        table_key: TableKey,
        here: PointIndex,
        at_ns: u64,
    ) -> Option<(usize, usize)> {
        if self.copies.points() < 2 {
            return None;
        }
        if let Some(found) = self.copied(packet, here, at_ns) {
            return Some(found);
        }
        // A route that goes out of one interface and comes back on another: so far this direction had no packets.
        let at = *self.known.get(&table_key.anywhere())? as usize;
        let direction = self.flows[at].direction(packet);
        let is_open = self.flows[at].packets(direction) == 0 && self.flows[at].may_join();
        is_open.then_some((at, direction))
    }

    /// Returns the flow of which this packet is a copy, from another point, and its direction.
    fn copied(&mut self, packet: &CapturedPacket, here: PointIndex, at_ns: u64) -> Option<(usize, usize)> {
        let same_addresses = self.known.get(&TableKey::of(packet).anywhere());
        let flow = same_addresses.map_or(u32::MAX, |&at| self.flows[at as usize].number);
        let owner = self.copies.elsewhere(packet, flow, here, at_ns)?;
        let at = self.index(owner.flow)?;
        let flow = &self.flows[at];
        if !flow.may_join() {
            return None;
        }
        let direction = flow.lasting(owner.direction.into());
        let key = if direction == 0 { flow.key } else { flow.key.reverse() };
        let known =
            flow.others.iter().any(|(_, other)| *other == packet.key || other.reverse() == packet.key);
        let translated = key.protocol == packet.key.protocol
            && (key.source == packet.key.source || key.destination == packet.key.destination)
            && copies::is_unmistakable(packet);
        (key == packet.key || known || translated).then_some((at, direction))
    }

    /// Index in `flows` of the flow with this number, if it is open.
    fn index(&self, number: u32) -> Option<usize> {
        self.numbers.get(&number).map(|&at| at as usize)
    }

    fn join(&mut self, at: usize, table_key: TableKey, key: FlowKey, interface: u32) {
        self.known.insert(table_key, at as u32);
        self.flows[at].join(table_key, key, interface);
    }

    /// Ends all flows at the end of the capture.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        self.close(sink, |_| true);
    }

    /// Number of flows so far, including the open ones.
    pub(super) const fn count(&self) -> u32 {
        self.number - self.absorbed
    }

    /// Number of packets so far that were copies of others.
    pub(super) const fn set_aside_packets(&self) -> u64 {
        self.set_aside
    }

    /// Load of all flows, and lag of the games that have ended, over time.
    pub(super) const fn timeline(&self) -> &Timeline {
        &self.course.timeline
    }

    /// Number of open flows that behave like a game so far.
    pub(super) fn games(&mut self) -> usize {
        self.flows.iter_mut().filter_map(|flow| flow.is_game().then_some(())).count()
    }

    /// What is known of an open flow.
    pub(super) fn open_flow(&mut self, number: u32) -> Option<OpenFlow> {
        self.index(number).map(|at| self.flows[at].so_far())
    }

    fn open(
        &mut self,
        packet: &CapturedPacket,
        table_key: TableKey,
        at_ns: u64,
        sink: &mut impl Sink,
    ) -> usize {
        if self.flows.len() == MAX_FLOWS {
            let mut last: Vec<u64> = self.flows.iter().map(|flow| flow.last_ns).collect();
            let quarter = MAX_FLOWS / 4;
            let until = *last.select_nth_unstable(quarter).1;
            self.close(sink, |flow| flow.last_ns <= until);
        }
        let at = self.flows.len();
        self.known.insert(table_key, at as u32);
        if self.has_points {
            self.known.insert(table_key.anywhere(), at as u32);
        }
        self.numbers.insert(self.number, at as u32);
        self.flows.push(Box::new(Flow::new(self.number, packet, table_key, at_ns, &mut self.spare)));
        self.number += 1;
        at
    }

    /// Closes flows in the order of their numbers.
    fn close(&mut self, sink: &mut impl Sink, ends: impl Fn(&Flow) -> bool) {
        let mut ended = Vec::new();
        let mut at = 0;
        while at < self.flows.len() {
            if ends(&self.flows[at]) {
                ended.push(self.remove(at));
            } else {
                at += 1;
            }
        }
        ended.sort_unstable_by_key(|flow| flow.number);
        for flow in ended {
            flow.finish(&self.copies, &mut self.course, &mut self.spare, sink);
        }
    }

    /// Takes a flow out of the table. The last one moves to its index.
    fn remove(&mut self, at: usize) -> Box<Flow> {
        let flow = self.flows.swap_remove(at);
        self.numbers.remove(&flow.number);
        for key in table_keys(&flow, self.has_points) {
            if self.known.get(&key).is_some_and(|&known| known as usize == at) {
                self.known.remove(&key);
            }
        }
        let last = self.flows.len() as u32;
        if let Some(moved) = self.flows.get(at) {
            self.numbers.insert(moved.number, at as u32);
            for key in table_keys(moved, self.has_points) {
                if let Some(known) = self.known.get_mut(&key).filter(|known| **known == last) {
                    *known = at as u32;
                }
            }
        }
        flow
    }
}

/// Keys that a flow may have in the table. Those of no interface, if there are any, may belong to a later flow.
fn table_keys(flow: &Flow, has_points: bool) -> impl Iterator<Item = TableKey> {
    let keys = flow.keys().map(|(key, _)| key);
    keys.flat_map(move |key| [Some(key), has_points.then(|| key.anywhere())]).flatten()
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

/// Number of slots: 4 KiB.
const LATELY: usize = 1 << 10;
/// Maximum number of open flows.
const MAX_FLOWS: usize = 16_384;
/// Interval of the search for idle flows, in capture time.
const LOOK_NS: u64 = 10_000_000_000;
/// Packets after which a flow is no longer taken for another one seen elsewhere.
const YOUNG: u64 = 64;
