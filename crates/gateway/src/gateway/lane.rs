//! One direction of the gateway: a queue, and the shaper that empties it. It decides as the simulator's hop of a queue and a shaper.

use gamelane_core::time::earliest;
use gamelane_core::{Bitrate, DropReason, Instant, Outlet, Packet, Seed};
use gamelane_device::FrameId;
use gamelane_link::{Link, PortId, WiredLink};
use gamelane_policy::LanePolicy;
use gamelane_qdisc::{AnyQueue, Backlog, QueueDiscipline};

/// A queue and its shaper.
#[derive(Debug)]
pub(crate) struct Lane {
    queue: AnyQueue<FrameId>,
    /// Queues of earlier policies, oldest first. Their packets leave first, at the current rate.
    retired: Vec<AnyQueue<FrameId>>,
    /// Without one, packets leave as fast as the interface takes them.
    shaper: Option<WiredLink>,
    /// Times a waiting frame was held back.
    held: u64,
    /// What arrived before this is too old to be of use.
    stale_before: Instant,
}

/// The one port of a wired link.
const PORT: PortId = PortId(0);

impl Lane {
    /// Panics if no queue can be built from the policy. [`crate::Policy::parse`] has checked that.
    pub(crate) fn new(policy: &LanePolicy, classes: usize, seed: Seed, name: &str) -> Self {
        let queue = AnyQueue::build(&policy.queue, classes, policy.mtu, seed, &format!("gateway/{name}"));
        let queue = queue.unwrap_or_else(|error| panic!("the queue `{name}` was not checked: {error}"));
        let shaper =
            policy.shape.clone().map(|shape| WiredLink::shaper(shape, seed, &format!("shape/{name}")));
        Self { queue, retired: Vec::new(), shaper, held: 0, stale_before: Instant::ZERO }
    }

    /// Replaces `before` and takes over its frames.
    pub(crate) fn succeed(&mut self, before: Self, now: Instant) {
        self.retired = before.retired;
        self.retired.push(before.queue);
        self.retired.retain(|queue| !queue.backlog().is_empty());
        self.held = before.held;
        self.stale_before = before.stale_before;
        self.offer(now);
    }

    pub(crate) fn enqueue(&mut self, packet: Packet<FrameId>, now: Instant, out: &mut dyn Outlet<FrameId>) {
        self.queue.enqueue(packet, now, out);
        self.offer(now);
    }

    /// Returns the frame that may leave now.
    pub(crate) fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<FrameId>) -> Option<Packet<FrameId>> {
        if let Some(shaper) = &mut self.shaper
            && shaper.poll_grant(now).is_none()
        {
            self.held += u64::from(!self.backlog().is_empty());
            return None;
        }
        let mut packet = self.take(now, out);
        while packet.as_ref().is_some_and(|packet| packet.meta.queued_at < self.stale_before) {
            packet.into_iter().for_each(|packet| out.dropped(packet, DropReason::Stale));
            packet = self.take(now, out);
        }
        if let (Some(shaper), Some(packet)) = (&mut self.shaper, &packet) {
            shaper.start(PORT, &packet.meta, now);
        }
        self.offer(now);
        packet
    }

    /// Takes the next frame out of the queues.
    fn take(&mut self, now: Instant, out: &mut dyn Outlet<FrameId>) -> Option<Packet<FrameId>> {
        while let Some(oldest) = self.retired.first_mut() {
            let packet = oldest.dequeue(now, out);
            let is_empty = oldest.backlog().is_empty();
            if is_empty {
                self.retired.remove(0);
            }
            if packet.is_some() || !is_empty {
                return packet;
            }
        }
        self.queue.dequeue(now, out)
    }

    /// What waits now is too old to be of use. It will be dropped when its turn comes.
    pub(crate) const fn stood_still(&mut self, now: Instant) {
        self.stale_before = now;
    }

    /// Changes the rate of the shaper from the next frame on, and of queues that have the same rate.
    pub(crate) fn set_rate(&mut self, rate: Bitrate) {
        if let Some(shaper) = &mut self.shaper {
            shaper.set_rate(rate);
        }
        for queue in self.retired.iter_mut().chain([&mut self.queue]) {
            queue.set_rate(rate);
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.queues().map(QueueDiscipline::backlog).sum()
    }

    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn poll_timeout(&self, blocked: bool) -> Option<Instant> {
        let laws = self.queues().fold(None, |at, queue| earliest(at, queue.poll_timeout()));
        if blocked {
            return laws;
        }
        let ready = self.queues().fold(None, |at, queue| earliest(at, queue.ready_at()));
        let leaves = match &self.shaper {
            Some(shaper) => shaper.poll_timeout().map(|free| ready.map_or(free, |ready| ready.max(free))),
            None => ready,
        };
        earliest(laws, leaves)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for queue in self.retired.iter_mut().chain([&mut self.queue]) {
            queue.handle_timeout(now);
        }
    }

    fn queues(&self) -> impl Iterator<Item = &AnyQueue<FrameId>> {
        self.retired.iter().chain([&self.queue])
    }

    fn offer(&mut self, now: Instant) {
        let waiting = self.backlog();
        if let Some(shaper) = &mut self.shaper {
            shaper.backlog_changed(PORT, waiting, now);
        }
    }
}
