//! What came to Linux's queues, left them and was dropped: the accounts, and what is known of flows from them.

use gamelane_core::headers::{TCP_HEADER, UDP_HEADER};
use gamelane_core::{
    ByteCount, Direction, DropReason, Ecn, Instant, IpLen, Overhead, PacketMeta, Protocol, Seed,
};
use gamelane_device::Headers;
use gamelane_policy::Policy;
use gamelane_qdisc::{Backlog, Classifier};
use gamelane_stage::following::Follower;

use crate::gateway::following::Listening;
use crate::gateway::{self, Account, CONVERSATIONS};
use crate::truth::{Passed, Truth};

/// A packet that came to a queue. A large one is several packets on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its number, counted from 0.
    pub number: u64,
    pub(super) meta: PacketMeta,
    pub(super) headers: Headers,
    pub(super) direction: Direction,
    /// When it came.
    pub came: Instant,
    /// Bytes from the network header on.
    pub len: u32,
    /// Bytes of them before the payload.
    header: u32,
    /// Packets on the wire.
    pub packets: u32,
    /// How many of them have not left.
    pub left: u32,
}

impl Packet {
    /// One of its segments, of this length.
    pub fn segment(&self, len: u32) -> Self {
        Self { meta: PacketMeta { len: IpLen(len), ..self.meta }, packets: 1, left: 1, ..*self }
    }

    /// Whether a segment that begins with this number of TCP is one of this packet's. Without numbers (UDP) it is.
    pub(super) fn has(&self, sequence: Option<u32>) -> bool {
        match (self.headers.ip.and_then(|ip| ip.tcp), sequence) {
            (Some(own), Some(sequence)) => {
                sequence.wrapping_sub(own.sequence) < self.len.saturating_sub(self.header)
            }
            _ => true,
        }
    }

    /// Whether this frame of it says "congestion experienced" where the packet did not. Headers are where they were when it came.
    pub fn is_marked(&self, frame: &[u8]) -> bool {
        let start = self.headers.ip.as_ref().and_then(|ip| frame.get(ip.ip_at..));
        let says = match start {
            Some([first, second, ..]) if first >> 4 == 4 => second & 3 == 3,
            Some([first, second, ..]) if first >> 4 == 6 => second >> 4 & 3 == 3,
            _ => false,
        };
        says && self.meta.ecn != Ecn::Ce
    }
}

/// A packet that comes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its headers, with the home's own address.
    pub headers: Headers,
    /// What they say.
    pub meta: PacketMeta,
    /// An Ethernet header, and the first bytes of the packet.
    pub frame: &'a [u8],
    /// Bytes from the network header on.
    pub len: u32,
    /// Payload of each segment and their number, 0 if it is not known; `None` if it is one packet.
    pub segments: Option<(u16, u32)>,
}

/// The accounts of both directions.
#[derive(Debug)]
pub struct Ledger {
    truth: Truth,
    accounts: [Account; 2],
    backlogs: [Backlog; 2],
    unseen: u64,
    /// Number of the next packet.
    number: u64,
    overheads: [Overhead; 2],
    classifier: Option<Classifier>,
    following: Option<Listening>,
}

impl Ledger {
    /// Makes empty accounts. With a policy, packets are put into its classes, and its shapers that follow their link are served.
    pub fn new(policy: Option<&Policy>, seed: Seed, now: Instant) -> Self {
        let mut own = Self {
            truth: Truth::new(CONVERSATIONS, seed.stream("gateway/truth").bits()),
            accounts: Default::default(),
            backlogs: Default::default(),
            unseen: 0,
            number: 0,
            overheads: [Overhead::None; 2],
            classifier: None,
            following: None,
        };
        if let Some(policy) = policy {
            own.reload(policy, now);
        }
        own
    }

    /// Changes the policy. Shapers that follow their link keep their rates where the new policy allows it.
    pub fn reload(&mut self, policy: &Policy, now: Instant) {
        self.classifier = gateway::classifier(policy);
        self.overheads = gateway::overheads(policy);
        if let Some(config) = &policy.classifier {
            self.truth.judge_by(config.flows.behaviour);
        }
        let before = std::mem::replace(&mut self.following, Listening::new(policy.autorate, now));
        if let (Some(own), Some(before)) = (&mut self.following, before) {
            own.succeed(before);
        }
    }

    /// A packet comes.
    pub fn came(&mut self, arrival: &Arrival<'_>, direction: Direction, at: Instant, now: Instant) -> Packet {
        let Arrival { headers, mut meta, frame, len, segments } = *arrival;
        let Self { truth, classifier, following, .. } = self;
        if let (Some(classifier), Some(key)) = (classifier, headers.key()) {
            meta.class = classifier.classify(&meta, key, direction, now);
        }
        meta.flow = truth.arrived(&headers, &meta, direction, now);
        if let (Some(following), Direction::Down) = (following, direction) {
            following.came(&headers, frame, &meta, truth, now);
        }
        let header = header(&headers, frame);
        let packets = match segments {
            None => 1,
            Some((_, count)) if count > 0 => count,
            // Frames of others, such as virtual machines, do not say.
            Some((payload, _)) if headers.ip.is_some() => {
                len.saturating_sub(header).div_ceil(payload.max(1).into()).max(1)
            }
            Some(_) => 1,
        };
        let account = &mut self.accounts[direction.index()];
        account.counters.arrived += u64::from(packets);
        account.not_ip += u64::from(headers.ip.is_none());
        let backlog = &mut self.backlogs[direction.index()];
        // Before this packet: a full queue drops it.
        account.most = account.most.max(backlog.packets);
        backlog.packets += packets;
        backlog.bytes += meta.len.bytes();
        let number = self.number;
        self.number += 1;
        Packet { number, meta, headers, direction, came: at, len, header, packets, left: packets }
    }

    /// A packet leaves, or a segment of one. One that is `past` the shaper is no load for it.
    pub fn left(&mut self, packet: &Packet, at: Instant, is_marked: bool, is_past: bool, now: Instant) {
        self.take_off(packet);
        let Packet { meta, headers, direction, came, header, left: packets, .. } = packet;
        let sojourn = at.saturating_since(*came);
        // A large packet has the headers of one.
        let bytes = meta.len.bytes() + u64::from(packets - 1) * u64::from(*header);
        let account = &mut self.accounts[direction.index()];
        account.most = account.most.max(self.backlogs[direction.index()].packets + packets);
        account.counters.delivered += u64::from(*packets);
        account.bytes += bytes;
        let each = IpLen((bytes / u64::from(*packets)) as u32);
        let wire_bytes = self.overheads[direction.index()].wire_len(each).bytes() * u64::from(*packets);
        account.wire_bytes += wire_bytes;
        account.sojourn.record_many(sojourn, *packets);
        let passed = Passed { packets: *packets, bytes: ByteCount(bytes), sojourn };
        self.truth.left(meta, *direction, &passed, now);
        if let Some(following) = &mut self.following
            && !is_past
        {
            following.left(*direction, ByteCount(wire_bytes), headers, meta, &mut self.truth, now);
        }
        if is_marked {
            account.counters.marked += u64::from(*packets);
            self.truth.marked(meta, *direction, *packets);
        }
    }

    /// A packet is dropped, or a segment of one.
    pub fn dropped(&mut self, packet: &Packet, reason: DropReason, now: Instant) {
        self.take_off(packet);
        let Packet { meta, direction, left, .. } = packet;
        self.accounts[direction.index()].counters.dropped.add_many(reason, u64::from(*left));
        self.truth.dropped(meta, *direction, reason, *left, now);
    }

    /// A packet was not seen to leave or to be dropped.
    pub fn gone(&mut self, packet: &Packet) {
        self.unseen += u64::from(packet.left);
        self.take_off(packet);
    }

    /// Lets the shapers that follow their link decide, if it is time.
    pub fn follow(&mut self, now: Instant) {
        let Some(following) = &mut self.following else { return };
        for direction in Direction::BOTH {
            // It may ask for a probe; a gateway sends none.
            following.shapers.handle_timeout(direction, now);
        }
    }

    /// The shaper of `direction`, if it follows its link.
    pub fn follower(&self, direction: Direction) -> Option<&Follower> {
        self.following.as_ref()?.shapers.follower(direction)
    }

    /// Counters of a direction. `no_room` and `not_sent` stay zero.
    pub const fn account(&self, direction: Direction) -> &Account {
        &self.accounts[direction.index()]
    }

    /// Packets and bytes that wait.
    pub const fn backlog(&self, direction: Direction) -> Backlog {
        self.backlogs[direction.index()]
    }

    /// What is known of flows.
    pub const fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Packets that came and were not seen to leave or to be dropped.
    pub const fn unseen(&self) -> u64 {
        self.unseen
    }

    fn take_off(&mut self, packet: &Packet) {
        let backlog = &mut self.backlogs[packet.direction.index()];
        backlog.packets = backlog.packets.saturating_sub(packet.left);
        let bytes = packet.meta.len.bytes();
        backlog.bytes = if backlog.packets == 0 { 0 } else { backlog.bytes.saturating_sub(bytes) };
    }
}

/// Bytes before the payload, from the IP header on.
fn header(headers: &Headers, frame: &[u8]) -> u32 {
    let Some(ip) = &headers.ip else { return 0 };
    let transport = match (ip.key.protocol, frame.get(ip.transport_at + TCP_OFFSET_AT)) {
        (Protocol::Tcp, Some(offset)) => u32::from(offset >> 4) * 4,
        (Protocol::Tcp, None) => TCP_HEADER,
        _ => UDP_HEADER,
    };
    (ip.transport_at - ip.ip_at) as u32 + transport
}

/// Place of the data offset in the header of TCP: how long that is.
const TCP_OFFSET_AT: usize = 12;
