//! An impaired path, one direction, to feel or to test what a network does to packets: loss, a rate with its queue, delay
//! with jitter, reordering, duplication, in this order. Each can be changed while packets are on their way; they keep the
//! arrival they were given, and none is lost or overtaken because of a change.
//!
//! The words are those of Linux' netem (Hemminger 2005, "Network emulation with NetEm"), so are the shapes of jitter. What
//! differs: packets stay in order unless asked otherwise, correlation keeps the distribution, and a reordered packet is
//! held back (RFC 4737 section 3.3 calls the late one reordered) instead of sent without delay. Corruption is left out.

mod config;
mod jitter;

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::format;
use core::cmp::{Ordering, Reverse};
use gamelane_core::loss::Loss;
use gamelane_core::time::earliest;
use gamelane_core::{DropReason, Duration, HopCounters, Instant, Outlet, Packet, Seed, Stream};
use gamelane_qdisc::Backlog;

pub use config::{ImpairConfig, Jitter, JitterShape, Order, RateLimit, Reorder};
use jitter::JitterProcess;

/// Receives what is lost, and makes the copies that duplication needs.
pub trait ImpairOutlet<B>: Outlet<B> {
    /// A second packet with the same content, or `None` for want of memory: then it is not duplicated.
    fn copy(&mut self, packet: &Packet<B>) -> Option<Packet<B>>;
}

/// What came, went and was lost, and what was done to it on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairCounters {
    /// Arrivals, deliveries and losses. Copies are delivered without having arrived.
    pub hop: HopCounters,
    /// Copies made.
    pub duplicated: u64,
    /// Packets held back.
    pub reordered: u64,
}

impl ImpairCounters {
    /// True if every packet and copy is accounted for, `inside` of them still on their way.
    pub fn balance(&self, inside: u64) -> bool {
        let arrived = self.hop.arrived + self.duplicated;
        HopCounters { arrived, ..self.hop }.balance(inside)
    }
}

/// One direction of an impaired path. Driven as `gamelane_core` says: timeouts, [`Impairment::poll_deliver`] until `None`,
/// then arrivals. Late calls delay packets and change nothing else: times follow from times, not from calls.
#[derive(Debug)]
pub struct Impairment<B> {
    config: ImpairConfig,
    loss: Loss,
    jitter: JitterProcess,
    reorder: Stream,
    duplicate: Stream,
    waiting: VecDeque<Packet<B>>,
    waiting_bytes: u64,
    /// The packet being serialised, and when its end leaves.
    on_medium: Option<(Instant, Packet<B>)>,
    flying: BinaryHeap<Reverse<Flying<B>>>,
    /// Packets sent off so far, to break ties.
    sequence: u64,
    /// Nothing that keeps its place arrives before this.
    last_arrival: Instant,
    counters: ImpairCounters,
}

impl<B> Impairment<B> {
    /// An empty path; its random streams are named under `path`.
    pub fn new(config: ImpairConfig, seed: Seed, path: &str) -> Self {
        let stream = |name| seed.stream(&format!("{path}/{name}"));
        Self {
            loss: Loss::new(config.loss, stream("loss")),
            jitter: JitterProcess::new(stream("jitter")),
            reorder: stream("reorder"),
            duplicate: stream("duplicate"),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            on_medium: None,
            flying: BinaryHeap::new(),
            sequence: 0,
            last_arrival: Instant::ZERO,
            counters: ImpairCounters::default(),
            config,
        }
    }

    /// What is in force.
    pub const fn config(&self) -> &ImpairConfig {
        &self.config
    }

    /// Changes what happens from `now` on. Packets that wait for the medium wait for the new rate, what is left of the one on
    /// it leaves at the new rate, and packets beyond it arrive when they would have. A shorter delay takes effect once those
    /// have arrived: nothing overtakes them.
    pub fn set(&mut self, config: ImpairConfig, now: Instant, out: &mut dyn ImpairOutlet<B>) {
        self.handle_timeout(now, out);
        self.loss.set_model(config.loss);
        if let Some((through, _)) = &mut self.on_medium {
            *through = match (&self.config.rate, &config.rate) {
                (Some(before), Some(after)) => {
                    let left = u128::from(through.saturating_since(now).as_nanos());
                    let nanos = left * u128::from(before.rate.bps()) / u128::from(after.rate.bps());
                    now.saturating_add(Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX)))
                }
                _ => now,
            };
        }
        self.config = config;
        self.handle_timeout(now, out);
    }

    /// Takes a packet in, or loses it.
    pub fn handle_packet(&mut self, mut packet: Packet<B>, now: Instant, out: &mut dyn ImpairOutlet<B>) {
        self.handle_timeout(now, out);
        self.counters.hop.arrived += 1;
        if self.loss.loses_next() {
            self.counters.hop.dropped.add(DropReason::Path);
            return out.dropped(packet, DropReason::Path);
        }
        packet.meta.queued_at = now;
        let Some(limit) = self.config.rate else {
            return self.send_off(packet, now, out);
        };
        if self.on_medium.is_none() {
            self.on_medium = Some((now + limit.time_to_send(packet.meta.len), packet));
        } else if self.backlog().would_exceed(limit.queue, packet.meta.len) {
            self.counters.hop.dropped.add(DropReason::Tail);
            out.dropped(packet, DropReason::Tail);
        } else {
            self.waiting_bytes += packet.meta.len.bytes();
            self.waiting.push_back(packet);
        }
    }

    /// Moves packets from the queue over the medium. A late call sends each off at the time it was through.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut dyn ImpairOutlet<B>) {
        while let Some((through, packet)) = self.on_medium.take_if(|(through, _)| *through <= now) {
            if let Some(next) = self.waiting.pop_front() {
                self.waiting_bytes -= next.meta.len.bytes();
                let time = self.config.rate.map_or(Duration::ZERO, |limit| limit.time_to_send(next.meta.len));
                self.on_medium = Some((through + time, next));
            }
            self.send_off(packet, through, out);
        }
    }

    /// The next packet that has arrived by `now`; call until `None`.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Packet<B>> {
        if self.flying.peek()?.0.at > now {
            return None;
        }
        self.counters.hop.delivered += 1;
        self.flying.pop().map(|Reverse(flying)| flying.packet)
    }

    /// When the next packet arrives or leaves the medium.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.flying.peek().map(|flying| flying.0.at);
        earliest(arrival, self.next_departure())
    }

    /// When the next packet leaves the medium: all there is to do while the far end takes nothing.
    pub fn next_departure(&self) -> Option<Instant> {
        self.on_medium.as_ref().map(|(through, _)| *through)
    }

    /// What came, went and was lost.
    pub const fn counters(&self) -> &ImpairCounters {
        &self.counters
    }

    /// What waits for the medium.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.waiting_bytes }
    }

    /// Packets waiting, on the medium or on their way.
    pub fn inside(&self) -> u64 {
        (self.waiting.len() + usize::from(self.on_medium.is_some()) + self.flying.len()) as u64
    }

    /// A packet has left the medium at `from`.
    fn send_off(&mut self, packet: Packet<B>, from: Instant, out: &mut dyn ImpairOutlet<B>) {
        let at = from.saturating_add(self.jitter.delay(self.config.delay, &self.config.jitter));
        let copy = (self.config.duplicate > 0.0 && self.duplicate.chance(self.config.duplicate))
            .then(|| out.copy(&packet))
            .flatten();
        let at = match self.config.jitter.order {
            Order::Kept => at.max(self.last_arrival),
            Order::AsDelayed => at,
        };
        if self.config.reorder.share > 0.0 && self.reorder.chance(self.config.reorder.share) {
            self.counters.reordered += 1;
            self.fly(packet, at.saturating_add(self.config.reorder.by));
        } else {
            self.last_arrival = self.last_arrival.max(at);
            self.fly(packet, at);
        }
        if let Some(copy) = copy {
            self.counters.duplicated += 1;
            self.fly(copy, at);
        }
    }

    fn fly(&mut self, packet: Packet<B>, at: Instant) {
        self.flying.push(Reverse(Flying { at, sequence: self.sequence, packet }));
        self.sequence += 1;
    }
}

/// A packet on its way; ordered by arrival, then by departure.
#[derive(Debug)]
struct Flying<B> {
    at: Instant,
    sequence: u64,
    packet: Packet<B>,
}

impl<B> Flying<B> {
    const fn key(&self) -> (Instant, u64) {
        (self.at, self.sequence)
    }
}

impl<B> PartialEq for Flying<B> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<B> Eq for Flying<B> {}

impl<B> PartialOrd for Flying<B> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<B> Ord for Flying<B> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests;
