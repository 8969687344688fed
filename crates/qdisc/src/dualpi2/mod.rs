//! DualPI2 (RFC 9332): a low-delay queue for L4S packets (ECT(1) or CE) and a Classic queue for all others. The coupled
//! AQM gives both kinds of flows about the same share of the link. UDP of a game without ECT(1) goes to the Classic
//! queue, together with TCP. Left out: classifiers other than ECN, and queue protection (RFC 9957).

pub mod config;

use alloc::collections::VecDeque;
use gamelane_core::{DropReason, Duration, Ecn, Instant, IpLen, MarkReason, Outlet, Packet};

use crate::aqm::{Pi2, Ticks};
use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};

pub use config::{DualPi2Config, L4sMarking, Scheduler};

/// DualPI2 in the catalogue.
pub const DUALPI2: QueueDescriptor = QueueDescriptor {
    word: "dualpi2",
    label: "DualPI2",
    about: "DualPI2 (RFC 9332): one queue for L4S and one for Classic traffic.",
    keys: &["target", "update", "coupling", "alpha", "beta", "step", "classic_share", "time_shift"],
    page: "dualpi2",
    facts: QueueFacts {
        isolates: Isolates::Nothing,
        plain: None,
        tc: Tc {
            name: "dualpi2",
            options: &[("limit", "limit"), ("target", "target"), ("update", "tupdate")],
        },
    },
};

/// One of the two queues.
#[derive(Debug)]
struct Queue<B> {
    packets: VecDeque<Packet<B>>,
    backlog: Backlog,
    /// Sum of the probabilities of past packets. Each time it exceeds 1 a packet gets a signal, so signals are evenly
    /// spaced instead of random (`recur`, appendix A.1).
    accumulated: f64,
}

impl<B> Queue<B> {
    const fn new() -> Self {
        Self { packets: VecDeque::new(), backlog: Backlog { packets: 0, bytes: 0 }, accumulated: 0.0 }
    }

    fn pop(&mut self) -> Option<Packet<B>> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.meta.len);
        Some(packet)
    }

    /// Waiting time of the packet at the head; zero for an empty queue.
    fn delay(&self, now: Instant) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |packet| now.saturating_since(packet.meta.queued_at))
    }

    /// Adds `probability` to the sum and returns whether the packet gets a signal.
    fn is_due(&mut self, probability: f64) -> bool {
        self.accumulated += probability;
        let due = self.accumulated > 1.0;
        if due {
            self.accumulated -= 1.0;
        }
        due
    }
}

/// The DualPI2 discipline.
#[derive(Debug)]
pub struct DualPi2<B> {
    config: DualPi2Config,
    /// Backlog of both queues in bytes up to which there is no AQM: two full packets, as in Linux.
    guard: u64,
    controller: Pi2,
    l4s: Queue<B>,
    classic: Queue<B>,
    /// Credit of the Classic queue under [`Scheduler::Weighted`]; above zero the Classic queue is served first.
    credit: i64,
    next_tick: Option<Instant>,
}

impl<B> DualPi2<B> {
    /// Makes empty queues from a checked configuration, for a link with IP packets of up to `mtu`.
    pub(crate) const fn new(config: DualPi2Config, mtu: IpLen) -> Self {
        Self {
            config,
            guard: 2 * mtu.bytes(),
            controller: Pi2::new(config.pi2),
            l4s: Queue::new(),
            classic: Queue::new(),
            credit: 0,
            next_tick: None,
        }
    }

    const fn ticks(&self) -> Ticks {
        Ticks { first: self.config.pi2.update, period: self.config.pi2.update }
    }

    fn total(&self) -> Backlog {
        [self.l4s.backlog, self.classic.backlog].into_iter().sum()
    }

    /// Returns whether the L4S queue is served next. If only one queue has packets, that one is served.
    fn serves_l4s(&self, now: Instant) -> bool {
        if self.l4s.packets.is_empty() || self.classic.packets.is_empty() {
            return !self.l4s.packets.is_empty();
        }
        match self.config.scheduler {
            Scheduler::Weighted { .. } => self.credit <= 0,
            Scheduler::TimeShifted { shift } => self.l4s.delay(now) + shift >= self.classic.delay(now),
        }
    }

    /// Updates the credit under [`Scheduler::Weighted`] for a packet that was sent, in hundredths of a byte.
    fn account(&mut self, l4s: bool, len: IpLen) {
        let Scheduler::Weighted { classic_percent } = self.config.scheduler else { return };
        let (len, classic) = (i64::from(len.0), i64::from(classic_percent));
        if self.classic.packets.is_empty() {
            self.credit = 0;
        } else if l4s {
            self.credit += classic * len;
        } else {
            self.credit -= (100 - classic) * len;
        }
    }

    /// Applies the AQM to a packet of the L4S queue: it drops in overload only, and marks by the queue's own ramp or by
    /// the coupled probability, whichever is higher.
    fn release_l4s(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        let (coupled, classic) = (self.controller.coupled(), self.controller.classic());
        let sojourn = now.saturating_since(packet.meta.queued_at);
        let native = self.config.marking.probability(sojourn, self.l4s.backlog.packets);
        if coupled >= 1.0 && self.l4s.is_due(classic) {
            out.dropped(packet, DropReason::AqmDequeue);
            return None;
        }
        let marked = self.l4s.is_due(native.max(coupled).min(1.0));
        Some(if marked { mark(packet, out) } else { packet })
    }

    /// Applies the AQM to a packet of the Classic queue: it marks ECN-capable packets unless the queue is overloaded,
    /// and drops all others.
    fn release_classic(&mut self, packet: Packet<B>, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        let probability = self.controller.classic();
        if !self.classic.is_due(probability) {
            return Some(packet);
        }
        if packet.meta.ecn.is_capable() && probability < self.controller.classic_limit() {
            return Some(mark(packet, out));
        }
        out.dropped(packet, DropReason::AqmDequeue);
        None
    }
}

fn mark<B>(mut packet: Packet<B>, out: &mut dyn Outlet<B>) -> Packet<B> {
    packet.meta.ecn = Ecn::Ce;
    out.marked(&packet.meta, MarkReason::AqmDequeue);
    packet
}

impl<B> QueueDiscipline<B> for DualPi2<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        if self.next_tick.is_none() {
            self.next_tick = Some(self.ticks().after(now));
        }
        if self.total().would_exceed(self.config.limit, packet.meta.len) {
            return out.dropped(packet, DropReason::Tail);
        }
        packet.meta.queued_at = now;
        let l4s = matches!(packet.meta.ecn, Ecn::Ect1 | Ecn::Ce);
        let queue = if l4s { &mut self.l4s } else { &mut self.classic };
        queue.backlog.add(packet.meta.len);
        queue.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        loop {
            let managed = self.total().bytes > self.guard;
            let l4s = self.serves_l4s(now);
            let queue = if l4s { &mut self.l4s } else { &mut self.classic };
            let packet = queue.pop()?;
            let len = packet.meta.len;
            let packet = match (managed, l4s) {
                (false, _) => Some(packet),
                (true, true) => self.release_l4s(packet, now, out),
                (true, false) => self.release_classic(packet, out),
            };
            if packet.is_some() {
                self.account(l4s, len);
                return packet;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.total()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_tick
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_tick.is_some_and(|at| at <= now) {
            // The larger of both delays, so that overload by L4S packets is controlled too (appendix A.2).
            let delay = self.classic.delay(now).max(self.l4s.delay(now));
            let awake = self.controller.update(delay) || !self.total().is_empty();
            self.next_tick = awake.then(|| self.ticks().after(now));
        }
    }
}

#[cfg(test)]
mod tests;
