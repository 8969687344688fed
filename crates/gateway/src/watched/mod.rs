//! Linux's queues, as the events of [`gamelane_device::watch`] show them: the same knowledge of flows as the gateway in user space has,
//! although Linux forwards. Pure: events come in, in order.
//!
//! ```text
//! events -> Watched: which packet is this? -> Ledger: counters, delays, flows, shapers that follow their link
//! ```

mod ledger;
mod reason;
mod translated;
mod waiting;

use std::net::SocketAddr;
use std::ops::Deref;

use gamelane_core::{Direction, DropReason, Duration, Instant, Seed};
use gamelane_device::watch::{Event, What};
use gamelane_policy::Policy;
use gamelane_policy::kernel::Handle;

pub use ledger::{Arrival, Ledger, Packet};
use translated::Translated;
use waiting::{End, WaitingPackets};

/// A packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Its number, counted from 0.
    pub number: u64,
    /// Packets on the wire.
    pub packets: u32,
    /// Its address at home, if it has the router's.
    pub home: Option<SocketAddr>,
}

/// What an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A packet came.
    Came(Came),
    /// A packet came where no queue is watched, and left at once.
    Passed(Came),
    /// It left, or a segment of it.
    Left {
        /// Its number.
        number: u64,
        /// Time in the queue.
        waited: Duration,
    },
    /// It was dropped, or a segment of it.
    Dropped {
        /// Its number.
        number: u64,
        /// Time in the queue.
        waited: Duration,
        /// Why.
        reason: DropReason,
    },
    /// Nothing is known of this packet.
    Unknown,
}

/// What is known of the queues of both directions. It is read as its [`Ledger`].
#[derive(Debug)]
pub struct Watched {
    waiting: WaitingPackets,
    translated: Translated,
    ledger: Ledger,
    /// Number of drops for each reason, by the kernel's number.
    reasons: [Vec<(u32, u64)>; 2],
    now: Instant,
}

impl Deref for Watched {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

impl Watched {
    /// Makes an empty one, with the [`Ledger`] of this policy.
    pub fn new(policy: Option<&Policy>, seed: Seed, now: Instant) -> Self {
        Self {
            waiting: WaitingPackets::default(),
            translated: Translated::default(),
            ledger: Ledger::new(policy, seed, now),
            reasons: Default::default(),
            now,
        }
    }

    /// Changes the policy ([`Ledger::reload`]).
    pub fn reload(&mut self, policy: &Policy, now: Instant) {
        self.ledger.reload(policy, now);
    }

    /// Lets the shapers that follow their link decide, if it is time.
    pub fn follow(&mut self, now: Instant) {
        self.ledger.follow(now);
    }

    /// Takes an event at the queue of `direction`. `name` is the kernel's of its reason, if it is a drop.
    pub fn take(&mut self, event: &Event<'_>, direction: Direction, name: Option<&str>) -> Outcome {
        // Two processors may read the clock in another order than they write.
        self.now = self.now.max(event.at);
        let outcome = match event.what {
            What::Came => Some(Outcome::Came(self.came(event, direction))),
            What::Left => self.left(event, direction),
            What::Passed => {
                let came = self.came(event, direction);
                self.left(event, direction).map(|_| Outcome::Passed(came))
            }
            What::Dropped(number) => self.dropped(event, direction, number, name),
        };
        outcome.unwrap_or(Outcome::Unknown)
    }

    /// When the last event happened. It never goes back.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Forgets packets of which nothing was heard for minutes.
    pub fn look(&mut self, now: Instant) {
        self.waiting.expire(now);
        self.forget_gone();
    }

    /// Forgets what waits, because it waits in other queues than those that are watched.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
        self.forget_gone();
    }

    /// Drops by the kernel's number of the reason.
    pub fn reasons(&self, direction: Direction) -> &[(u32, u64)] {
        &self.reasons[direction.index()]
    }

    fn forget_gone(&mut self) {
        while let Some(gone) = self.waiting.gone() {
            self.ledger.gone(&gone);
        }
    }

    fn came(&mut self, event: &Event<'_>, direction: Direction) -> Came {
        let (headers, meta, home) = self.translated.read(event, direction, self.now);
        let segments = event.segments.map(|(payload, count)| (payload, count.into()));
        let arrival = Arrival { headers, meta, frame: event.frame, len: event.len, segments };
        let packet = self.ledger.came(&arrival, direction, event.at, self.now);
        self.waiting.insert(event.packet, packet);
        self.forget_gone();
        Came { number: packet.number, packets: packet.packets, home }
    }

    fn left(&mut self, event: &Event<'_>, direction: Direction) -> Option<Outcome> {
        let packet = self.packet(event, direction)?;
        let is_past = event.priority == PAST_THE_SHAPER;
        self.ledger.left(&packet, event.at, packet.is_marked(event.frame), is_past, self.now);
        Some(Outcome::Left { number: packet.number, waited: event.at.saturating_since(packet.came) })
    }

    fn dropped(
        &mut self,
        event: &Event<'_>,
        direction: Direction,
        kernel_reason: u32,
        name: Option<&str>,
    ) -> Option<Outcome> {
        let packet = self.packet(event, direction)?;
        let waited = event.at.saturating_since(packet.came);
        let reason = reason::of(name, waited);
        self.ledger.dropped(&packet, reason, self.now);
        let reasons = &mut self.reasons[direction.index()];
        match reasons.iter_mut().find(|(known, _)| *known == kernel_reason) {
            Some((_, count)) => *count += u64::from(packet.left),
            None => reasons.push((kernel_reason, packet.left.into())),
        }
        Some(Outcome::Dropped { number: packet.number, waited, reason })
    }

    /// The packet of an event: one that waits, or a segment of one that the queue or its interface has split.
    fn packet(&mut self, event: &Event<'_>, direction: Direction) -> Option<Packet> {
        let packet = self.find(event, direction);
        self.forget_gone();
        packet
    }

    fn find(&mut self, event: &Event<'_>, direction: Direction) -> Option<Packet> {
        let known = self.waiting.take(event.packet, event.len);
        if known.is_some() || !self.waiting.has_large() {
            return known;
        }
        let (headers, meta, _) = self.translated.read(event, direction, self.now);
        let is_dropped = matches!(event.what, What::Dropped(_));
        let end = End::new(&meta, direction, is_dropped);
        if event.segments.is_some() {
            return self.waiting.take_large(event.packet, end);
        }
        let sequence = headers.ip.and_then(|ip| ip.tcp).map(|tcp| tcp.sequence);
        let whole = self.waiting.take_segment(event.packet, end, sequence)?;
        Some(whole.segment(event.len))
    }
}

/// Class of packets that the kernel's shaper lets pass ([`crate::kernel`]).
pub(crate) const PAST_THE_SHAPER: u32 = Handle::OWN.0;

#[cfg(test)]
mod tests {
    use gamelane_core::headers::ETHERNET_HEADER;
    use gamelane_qdisc::Backlog;
    use gamelane_qdisc::classify::Behaviour;
    use proptest::prelude::*;

    use super::*;

    const HOME: ([u8; 4], u16) = ([192, 168, 0, 2], 4000);
    const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);
    const ROUTER: ([u8; 4], u16) = ([203, 0, 113, 5], 61_000);

    /// An IPv4 packet of TCP (6) or UDP (17) with this much payload, from an end to another.
    fn frame(protocol: u8, from: ([u8; 4], u16), to: ([u8; 4], u16), payload: usize) -> Vec<u8> {
        let header = if protocol == 6 { 20 } else { 8 };
        let len = 20 + header + payload;
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 2]);
        frame.extend((len as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
        frame.extend(from.0);
        frame.extend(to.0);
        frame.extend(from.1.to_be_bytes());
        frame.extend(to.1.to_be_bytes());
        frame.resize(ETHERNET_HEADER as usize + len, 0);
        if protocol == 6 {
            frame[46] = 5 << 4;
        }
        frame
    }

    struct Scene {
        watched: Watched,
        now_us: u64,
    }

    impl Scene {
        fn new() -> Self {
            Self { watched: Watched::new(None, Seed(1), Instant::ZERO), now_us: 0 }
        }

        /// Something happens to a packet after `wait_us`.
        fn then(
            &mut self,
            wait_us: u64,
            packet: u64,
            what: What,
            direction: Direction,
            frame: &[u8],
            more: More,
        ) {
            self.now_us += wait_us;
            let start = frame.len().min(ETHERNET_HEADER as usize + 96);
            let event = Event {
                at: Instant::from_micros(self.now_us),
                packet,
                interface: 1,
                what,
                len: frame.len() as u32 - ETHERNET_HEADER,
                segments: more.segments,
                priority: 0,
                source: more.source.map(SocketAddr::from),
                frame: &frame[..start],
            };
            self.watched.take(&event, direction, more.reason);
        }

        fn conversation(&self) -> &crate::truth::Conversation {
            self.watched.truth().conversations().next().unwrap()
        }
    }

    #[derive(Clone, Copy, Default)]
    struct More {
        segments: Option<(u16, u16)>,
        source: Option<([u8; 4], u16)>,
        reason: Option<&'static str>,
    }

    use Direction::{Down, Up};
    use What::{Came, Dropped, Left};

    #[test]
    fn a_packet_waits_from_when_it_came_until_it_left_and_a_mark_is_seen() {
        let mut scene = Scene::new();
        let mut udp = frame(17, HOME, SERVER, 100);
        scene.then(10, 7, Came, Up, &udp, More::default());
        assert_eq!(scene.watched.backlog(Up), Backlog { packets: 1, bytes: 128 });
        udp[15] |= 3;
        scene.then(25_000, 7, Left, Up, &udp, More::default());
        let way = scene.conversation().ways[0];
        assert_eq!((way.packets, way.bytes.bytes(), way.marks), (1, 128, 1));
        assert_eq!(way.sojourn.max(), Duration::from_millis(25));
        assert_eq!(scene.watched.backlog(Up), Backlog::default());
        // The driver could not take it and gets it again: it left once.
        scene.then(5, 7, Left, Up, &udp, More::default());
        assert_eq!(scene.watched.account(Up).counters.delivered, 1);
        assert!(scene.watched.account(Up).counters.balance(0));
    }

    #[test]
    fn a_drop_has_a_reason_and_drops_elsewhere_are_not_counted() {
        let mut scene = Scene::new();
        let udp = frame(17, HOME, SERVER, 100);
        let reason = |reason| More { reason: Some(reason), ..More::default() };
        scene.then(10, 7, Came, Up, &udp, More::default());
        scene.then(3, 7, Dropped(66), Up, &udp, reason("QDISC_DROP"));
        scene.then(10, 7, Came, Up, &udp, More::default());
        scene.then(90_000, 7, Dropped(67), Up, &udp, reason("QDISC_CONGESTED"));
        // A packet for this machine itself, at a closed port.
        scene.then(10, 9, Dropped(3), Up, &udp, reason("NO_SOCKET"));
        let drops = scene.conversation().ways[0].drops;
        assert_eq!((drops.of(DropReason::Tail), drops.of(DropReason::AqmDequeue), drops.total()), (1, 1, 2));
        assert_eq!(scene.watched.reasons(Up), [(66, 1), (67, 1)]);
        assert_eq!(scene.watched.backlog(Up), Backlog::default());
    }

    #[test]
    fn segments_of_a_large_packet_leave_under_other_names() {
        let mut scene = Scene::new();
        // Two large packets of four segments and of two, and a small one of another flow.
        let large = |segments: u16| frame(6, HOME, SERVER, 1000 * usize::from(segments));
        let segment = frame(6, HOME, SERVER, 1000);
        let of = |count| More { segments: Some((1000, count)), ..More::default() };
        scene.then(10, 1, Came, Up, &large(4), of(4));
        // Its sender did not say how many.
        scene.then(10, 2, Came, Up, &large(2), of(0));
        scene.then(10, 3, Came, Up, &frame(17, HOME, SERVER, 100), More::default());
        assert_eq!(scene.watched.backlog(Up).packets, 7);
        for (wait_us, name) in [(970, 100), (1000, 101), (1000, 102)] {
            scene.then(wait_us, name, Left, Up, &segment, More::default());
        }
        scene.then(10, 3, Left, Up, &frame(17, HOME, SERVER, 100), More::default());
        // The last of the first packet, one of the second; the other is dropped.
        scene.then(990, 103, Left, Up, &segment, More::default());
        scene.then(1000, 104, Left, Up, &segment, More::default());
        scene.then(1000, 105, Dropped(66), Up, &segment, More::default());
        let account = scene.watched.account(Up);
        assert_eq!((account.counters.arrived, account.counters.delivered), (7, 6));
        assert_eq!(account.counters.dropped.total(), 1);
        assert_eq!(account.sojourn.max(), Duration::from_micros(4980));
        assert_eq!(scene.watched.backlog(Up), Backlog::default());
        // Nothing is left of them.
        scene.then(10, 106, Left, Up, &segment, More::default());
        assert_eq!(scene.watched.account(Up).counters.delivered, 6);
        // The name of the large one is that of a segment, or of another packet, once it is split.
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 2, Came, Up, &large(2), of(2));
        scene.then(10, 1, Came, Down, &frame(17, SERVER, HOME, 50), More::default());
        for name in [2, 107, 108, 109] {
            scene.then(10, name, Left, Up, &segment, More::default());
        }
        scene.then(10, 1, Left, Down, &frame(17, SERVER, HOME, 50), More::default());
        assert_eq!(scene.watched.account(Up).counters.delivered, 10);
        assert_eq!((scene.watched.backlog(Up), scene.watched.backlog(Down)), Default::default());
        // Of the first, one segment is not seen. The next packet begins elsewhere in the stream, so the first is over.
        let mut next = segment.clone();
        next[38..42].copy_from_slice(&50_000_u32.to_be_bytes());
        let mut second = large(2);
        second[38..42].copy_from_slice(&50_000_u32.to_be_bytes());
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 120, Left, Up, &segment, More::default());
        scene.then(2_000_000, 2, Came, Up, &second, of(2));
        scene.then(10, 121, Left, Up, &next, More::default());
        scene.then(10, 122, Left, Up, &next, More::default());
        assert_eq!((scene.watched.account(Up).counters.delivered, scene.watched.unseen()), (13, 1));
        assert_eq!(scene.watched.account(Up).sojourn.max(), Duration::from_micros(4980));
        // A full queue drops the packet that came last.
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 2, Came, Up, &second, of(2));
        scene.then(3, 2, Dropped(66), Up, &second, of(2));
        scene.then(10, 1, Left, Up, &large(2), of(2));
        assert_eq!((scene.watched.account(Up).counters.delivered, scene.watched.unseen()), (15, 1));
        assert_eq!(scene.watched.account(Up).counters.dropped.total(), 3);
        // Its end may be seen after others have left.
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 2, Came, Up, &second, of(2));
        scene.then(10, 140, Left, Up, &next, More::default());
        scene.then(10, 141, Dropped(66), Up, &segment, More::default());
        scene.then(10, 142, Dropped(66), Up, &segment, More::default());
        scene.then(10, 143, Left, Up, &next, More::default());
        assert_eq!((scene.watched.account(Up).counters.delivered, scene.watched.unseen()), (17, 1));
        // The end of a dropped segment is seen after the next packet has begun to leave.
        let at = |sequence: u32, mut frame: Vec<u8>| {
            frame[38..42].copy_from_slice(&sequence.to_be_bytes());
            frame
        };
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 2, Came, Up, &at(2000, large(2)), of(2));
        scene.then(10, 160, Left, Up, &segment, More::default());
        scene.then(10, 161, Left, Up, &at(2000, segment.clone()), More::default());
        scene.then(10, 162, Dropped(66), Up, &at(1000, segment.clone()), More::default());
        scene.then(10, 163, Left, Up, &at(3000, segment.clone()), More::default());
        let counters = scene.watched.account(Up).counters;
        assert_eq!((counters.delivered, counters.dropped.total(), scene.watched.unseen()), (20, 6, 1));
        assert_eq!(scene.watched.backlog(Up), Backlog::default());
        // Sent again: the segment has the name and the number of one that left, but is of another packet.
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 150, Left, Up, &segment, More::default());
        scene.then(10, 151, Left, Up, &segment, More::default());
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 150, Dropped(66), Up, &segment, More::default());
        scene.then(10, 151, Dropped(66), Up, &segment, More::default());
        assert_eq!(scene.watched.account(Up).counters.dropped.total(), 8);
        // A driver that frees what it has sent as if it dropped it.
        scene.then(10, 1, Came, Up, &large(2), of(2));
        scene.then(10, 130, Left, Up, &segment, More::default());
        scene.then(10, 130, Dropped(2), Up, &segment, More::default());
        scene.then(10, 131, Left, Up, &segment, More::default());
        assert_eq!(scene.watched.account(Up).counters.dropped.total(), 8);
        // One that leaves whole.
        scene.then(10, 1, Came, Up, &large(4), of(4));
        scene.then(10, 1, Left, Up, &large(4), of(4));
        assert_eq!(scene.watched.account(Up).counters.delivered, 28);
        assert!(!scene.watched.waiting.has_large());
    }

    #[test]
    fn the_home_is_known_behind_translated_addresses_in_both_directions() {
        let mut scene = Scene::new();
        let (up, down) = (frame(17, ROUTER, SERVER, 60), frame(17, SERVER, ROUTER, 60));
        let home = More { source: Some(HOME), ..More::default() };
        for number in 0..400 {
            scene.then(10_000, number, Came, Up, &up, home);
            scene.then(10, number, Left, Up, &up, home);
            scene.then(10_000, number, Came, Down, &down, More::default());
            scene.then(10, number, Left, Down, &down, More::default());
        }
        let found = scene.conversation();
        assert_eq!(scene.watched.truth().conversations().count(), 1);
        assert_eq!((found.key.source, found.key.destination), (HOME.into(), SERVER.into()));
        assert_eq!((found.ways[0].packets, found.ways[1].packets), (400, 400));
        assert_eq!(found.behaviour, Behaviour::RealTime);
    }

    proptest! {
        /// Every packet that came has left, was dropped, waits, or went unseen, whatever its name is.
        #[test]
        fn packets_are_conserved(events in prop::collection::vec((0..4, 0..6_u64, 0..3_u16, 1..4_u16), 1..200)) {
            let mut scene = Scene::new();
            for (what, name, flow, segments) in events {
                let frame = frame(6, (HOME.0, flow), SERVER, 1000 * usize::from(segments));
                let more = More { segments: (segments > 1).then_some((1000, segments)), ..More::default() };
                match what {
                    0 | 1 => scene.then(9, name, Came, Up, &frame, more),
                    2 => scene.then(9, name, Left, Up, &frame, more),
                    _ => scene.then(9, name, Dropped(1), Up, &frame, more),
                }
                let inside = u64::from(scene.watched.backlog(Up).packets) + scene.watched.unseen();
                prop_assert!(scene.watched.account(Up).counters.balance(inside));
            }
        }
    }

    #[test]
    fn the_fast_path_and_a_vlan_tag_hide_nobody() {
        let mut scene = Scene::new();
        let up = frame(17, ROUTER, SERVER, 60);
        let home = More { source: Some(HOME), ..More::default() };
        scene.then(10, 1, Came, Up, &up, home);
        // The next goes past connection tracking.
        scene.then(10, 2, Came, Up, &up, More::default());
        // What a VLAN interface sends has its tag before the packet and names it, or has it in the packet.
        let mut named = frame(17, HOME, SERVER, 60);
        named[12..14].copy_from_slice(&[0x81, 0]);
        scene.then(10, 3, Came, Up, &named, More::default());
        let mut inside = named.clone();
        inside.splice(14..14, [0x40, 5, 8, 0]);
        scene.then(10, 4, Came, Up, &inside, More::default());
        assert_eq!(scene.watched.truth().conversations().count(), 1);
        assert_eq!(scene.conversation().key.source, HOME.into());
        assert_eq!(scene.watched.account(Up).not_ip, 0);
    }

    #[test]
    fn what_goes_where_nobody_looks_does_not_wait_for_ever() {
        let mut scene = Scene::new();
        let udp = frame(17, HOME, SERVER, 100);
        scene.then(10, 7, Came, Up, &udp, More::default());
        scene.then(10, 8, Came, Up, &udp, More::default());
        // Another has its name.
        scene.then(10, 7, Came, Down, &frame(17, SERVER, HOME, 50), More::default());
        assert_eq!(scene.watched.backlog(Up).packets, 1);
        scene.watched.look(Instant::from_secs(300));
        assert_eq!((scene.watched.backlog(Up), scene.watched.backlog(Down)), Default::default());
    }
}
