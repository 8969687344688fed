//! The gateway without interfaces: each frame is parsed, its TCP window is lowered if the policy says so, and it is classified and
//! queued. Mechanisms are the simulator's, so each decision is the same as there.

pub(crate) mod following;
mod lane;

use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, ByteCount, ClassId, Overhead, Seed};
use gamelane_core::{
    Direction, DropReason, Duration, HopCounters, Instant, MarkReason, Outlet, Packet, PacketMeta,
};
use gamelane_device::{FrameId, Frames, Headers, Plane, at_home};
use gamelane_policy::Policy;
use gamelane_qdisc::{Backlog, Classifier};
use gamelane_service::histogram::Fine;
use gamelane_stage::following::Follower;
use gamelane_stage::voap::VoapCounters;
use gamelane_stage::{HopView, Verdict, Voap};

use crate::truth::{Passed, Truth};
use following::Listening;
use lane::Lane;

/// Most conversations known at once. Each takes 6.6 kB.
pub(crate) const CONVERSATIONS: usize = 1024;

/// A plane that queues, shapes and steers by a [`Policy`].
#[derive(Debug)]
pub struct Gateway {
    seed: Seed,
    lanes: [Lane; 2],
    overheads: [Overhead; 2],
    classifier: Option<Classifier>,
    /// Class of packets that match no rule, and of frames without IP.
    default_class: ClassId,
    voap: Option<Voap>,
    /// Shapers that follow their link, if there are any.
    following: Option<Listening>,
    /// Queueing delay of the frame that left last.
    last_wait: [Duration; 2],
    accounts: [Account; 2],
    truth: Truth,
    reloads: u64,
    /// Drops since the last [`Gateway::drain_drops`]; `None` unless somebody watches.
    drops: Option<Vec<DroppedFrame>>,
}

/// A frame that a queue dropped. Its bytes stay in the pool until its slot is taken again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedFrame {
    /// Direction it was going.
    pub direction: Direction,
    /// Slot it had in the pool.
    pub frame: FrameId,
    /// Reason of the drop.
    pub reason: DropReason,
}

/// Counters of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Frames that arrived, left, were dropped or marked.
    pub counters: HopCounters,
    /// IP bytes that left.
    pub bytes: u64,
    /// Bytes that left, framing included, as the shaper counts them.
    pub wire_bytes: u64,
    /// Frames that arrived without a whole IP packet.
    pub not_ip: u64,
    /// Frames lost because the pool was full.
    pub no_room: u64,
    /// Frames that left the queue and that the interface refused.
    pub not_sent: u64,
    /// Queueing delay of frames that left.
    pub sojourn: Fine<u64>,
    /// Most frames in the queue at once.
    pub most: u32,
}

impl Gateway {
    /// Makes a gateway with empty queues. The seed is of its random streams: AQM laws, salts of hashes.
    ///
    /// # Panics
    ///
    /// If the policy does not come from [`Policy::parse`].
    pub fn new(policy: &Policy, seed: Seed) -> Self {
        Self {
            seed,
            lanes: lanes(policy, seed),
            overheads: overheads(policy),
            classifier: classifier(policy),
            default_class: policy.default_class(),
            voap: policy.voap.map(|config| Voap::new(config, seed)),
            following: Listening::new(policy.autorate, Instant::ZERO),
            last_wait: [Duration::ZERO; 2],
            accounts: [Account::default(); 2],
            truth: Truth::new(CONVERSATIONS, seed.stream("gateway/truth").bits()),
            reloads: 0,
            drops: None,
        }
    }

    /// Changes the policy. Frames that wait leave first, in the order of their old queues. Window control keeps its connections if
    /// its settings are the same. A shaper that follows its link keeps its rate if the new policy's range includes it.
    pub fn reload(&mut self, policy: &Policy, now: Instant) {
        let before = std::mem::replace(&mut self.lanes, lanes(policy, self.seed));
        for (lane, before) in self.lanes.iter_mut().zip(before) {
            lane.succeed(before, now);
        }
        self.overheads = overheads(policy);
        self.classifier = classifier(policy);
        self.default_class = policy.default_class();
        if self.voap.as_ref().map(Voap::config) != policy.voap.as_ref() {
            self.voap = policy.voap.map(|config| Voap::new(config, self.seed));
        }
        let before = std::mem::replace(&mut self.following, Listening::new(policy.autorate, now));
        if let (Some(own), Some(before)) = (&mut self.following, before) {
            own.succeed(before);
        }
        self.follow();
        self.reloads += 1;
    }

    /// Collects drops from now on. [`Gateway::drain_drops`] must follow every call.
    pub fn watch_drops(&mut self) {
        self.drops.get_or_insert_default();
    }

    /// Returns the drops since the last call, in order.
    pub fn drain_drops(&mut self) -> impl Iterator<Item = DroppedFrame> {
        self.drops.iter_mut().flat_map(|drops| drops.drain(..))
    }

    /// Counters of a direction.
    pub const fn account(&self, direction: Direction) -> &Account {
        &self.accounts[direction.index()]
    }

    /// Packets and bytes that wait.
    pub fn backlog(&self, direction: Direction) -> Backlog {
        self.lanes[direction.index()].backlog()
    }

    /// Times the shaper held back a waiting frame.
    pub const fn held(&self, direction: Direction) -> u64 {
        self.lanes[direction.index()].held()
    }

    /// Counters of window control, if the policy has it.
    pub fn voap(&self) -> Option<&VoapCounters> {
        self.voap.as_ref().map(Voap::counters)
    }

    /// The shaper of `direction`, if it follows its link.
    pub fn follower(&self, direction: Direction) -> Option<&Follower> {
        self.following.as_ref()?.shapers.follower(direction)
    }

    /// Current rate of the shaper of `direction`: the policy's, or the one it followed its link to. `None` if nothing shapes.
    pub fn shaped_to(&self, direction: Direction, policy: &Policy) -> Option<Bitrate> {
        let followed = self.follower(direction).map(|follower| follower.autorate().rate());
        followed.or_else(|| policy.lanes[direction.index()].shape.as_ref().map(|shape| shape.rate))
    }

    /// What is known of flows.
    pub const fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Number of changes of the policy.
    pub const fn reloads(&self) -> u64 {
        self.reloads
    }

    /// Queueing delay of each direction: of the frame that left last, or zero if nothing waits.
    fn hops(&self) -> HopView {
        let delay = |direction: Direction| match self.backlog(direction).is_empty() {
            true => Duration::ZERO,
            false => self.last_wait[direction.index()],
        };
        HopView { queue_delay: Direction::BOTH.map(delay) }
    }

    /// Sets the shapers to the rates that followed the link.
    fn follow(&mut self) {
        let Some(following) = &self.following else { return };
        for (lane, direction) in self.lanes.iter_mut().zip(Direction::BOTH) {
            if let Some(rate) = following.shapers.rate(direction) {
                lane.set_rate(rate);
            }
        }
    }

    fn steer(
        &mut self,
        direction: Direction,
        headers: &Headers,
        meta: &PacketMeta,
        bytes: &mut [u8],
        now: Instant,
    ) {
        let hops = if self.voap.is_some() { self.hops() } else { return };
        let (Some(voap), Some(key)) = (&mut self.voap, headers.key()) else { return };
        let Some(facts) = headers.tcp_facts(bytes, direction) else {
            return voap.note_other(&at_home(*key, direction), direction, meta.len);
        };
        if let Verdict::SetWindow(window) = voap.inspect(&facts, meta.len, &hops, now) {
            headers.write_window(bytes, window);
        }
    }
}

fn lanes(policy: &Policy, seed: Seed) -> [Lane; 2] {
    Direction::BOTH
        .map(|direction| Lane::new(&policy.lanes[direction.index()], policy.classes, seed, direction.name()))
}

pub(crate) fn overheads(policy: &Policy) -> [Overhead; 2] {
    policy.lanes.each_ref().map(|lane| lane.shape.as_ref().map_or(Overhead::None, |shape| shape.overhead))
}

pub(crate) fn classifier(policy: &Policy) -> Option<Classifier> {
    let config = policy.classifier.as_ref()?;
    Some(Classifier::new(config, policy.classes).expect("the policy's rules were checked when it was parsed"))
}

impl Plane for Gateway {
    fn handle_frame(&mut self, direction: Direction, frame: FrameId, frames: &mut Frames, now: Instant) {
        let headers = Headers::parse(frames.bytes(frame));
        let mut meta = headers.meta(frames.bytes(frame), now);
        let index = direction.index();
        meta.class = match (&mut self.classifier, headers.key()) {
            (Some(classifier), Some(key)) => classifier.classify(&meta, key, direction, now),
            _ => self.default_class,
        };
        self.steer(direction, &headers, &meta, frames.bytes_mut(frame), now);
        meta.flow = self.truth.arrived(&headers, &meta, direction, now);
        if let (Some(following), Direction::Down) = (&mut self.following, direction) {
            following.came(&headers, frames.bytes(frame), &meta, &mut self.truth, now);
        }
        frames.set_headers(frame, headers);
        let Self { lanes, accounts, truth, drops, .. } = self;
        let account = &mut accounts[index];
        account.counters.arrived += 1;
        account.not_ip += u64::from(headers.ip.is_none());
        let mut losses = Losses { account, truth, frames, drops, direction, now };
        lanes[index].enqueue(Packet { meta, body: frame }, now, &mut losses);
        account.most = account.most.max(lanes[index].backlog().packets);
    }

    fn poll_transmit(&mut self, direction: Direction, frames: &mut Frames, now: Instant) -> Option<FrameId> {
        let Self { lanes, overheads, accounts, truth, last_wait, drops, following, .. } = self;
        let index = direction.index();
        let account = &mut accounts[index];
        let mut losses = Losses { account, truth, frames, drops, direction, now };
        let Packet { meta, body: frame } = lanes[index].dequeue(now, &mut losses)?;
        let sojourn = now.saturating_since(meta.queued_at);
        last_wait[index] = sojourn;
        account.counters.delivered += 1;
        account.bytes += meta.len.bytes();
        let wire_bytes = overheads[index].wire_len(meta.len).bytes();
        account.wire_bytes += wire_bytes;
        account.sojourn.record(sojourn);
        truth.left(
            &meta,
            direction,
            &Passed { packets: 1, bytes: ByteCount(meta.len.bytes()), sojourn },
            now,
        );
        if let Some(following) = following {
            let headers = frames.headers(frame);
            following.left(direction, ByteCount(wire_bytes), headers, &meta, truth, now);
        }
        if frames.headers(frame).ip.is_some_and(|ip| (ip.dscp, ip.ecn) != (meta.dscp, meta.ecn)) {
            let headers = *frames.headers(frame);
            headers.write_traffic_class(frames.bytes_mut(frame), meta.dscp, meta.ecn);
        }
        Some(frame)
    }

    fn poll_timeout(&self, blocked: [bool; 2]) -> Option<Instant> {
        let [up, down] = &self.lanes;
        let lanes = earliest(up.poll_timeout(blocked[0]), down.poll_timeout(blocked[1]));
        earliest(lanes, self.following.as_ref().and_then(|following| following.shapers.next_timeout()))
    }

    fn handle_timeout(&mut self, _frames: &mut Frames, now: Instant) {
        for lane in &mut self.lanes {
            lane.handle_timeout(now);
        }
        if let Some(following) = &mut self.following
            && following.shapers.next_timeout().is_some_and(|at| at <= now)
        {
            for direction in Direction::BOTH {
                // It may ask for a probe; a bridge sends none.
                following.shapers.handle_timeout(direction, now);
            }
            self.follow();
        }
    }

    fn stood_still(&mut self, now: Instant) {
        self.lanes.iter_mut().for_each(|lane| lane.stood_still(now));
    }

    fn no_room(&mut self, direction: Direction) {
        self.accounts[direction.index()].no_room += 1;
    }

    fn not_sent(&mut self, direction: Direction) {
        self.accounts[direction.index()].not_sent += 1;
    }
}

/// Counts what a queue drops or marks, and gives dropped frames back to the pool.
struct Losses<'a> {
    account: &'a mut Account,
    truth: &'a mut Truth,
    frames: &'a mut Frames,
    drops: &'a mut Option<Vec<DroppedFrame>>,
    direction: Direction,
    now: Instant,
}

impl Outlet<FrameId> for Losses<'_> {
    fn dropped(&mut self, packet: Packet<FrameId>, reason: DropReason) {
        self.account.counters.dropped.add(reason);
        self.truth.dropped(&packet.meta, self.direction, reason, 1, self.now);
        self.frames.give_back(packet.body);
        if let Some(drops) = self.drops {
            drops.push(DroppedFrame { direction: self.direction, frame: packet.body, reason });
        }
    }

    fn marked(&mut self, meta: &PacketMeta, _reason: MarkReason) {
        self.account.counters.marked += 1;
        self.truth.marked(meta, self.direction, 1);
    }
}
