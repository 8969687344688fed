//! One direction of an impaired path, to feel or to test network problems. Applied in this order: loss, a rate limit
//! with its queue, delay with jitter, reordering, duplication. The settings can be changed while packets are in flight.
//! Those packets keep their arrival times, and no packet is lost or overtaken because of a change.
//!
//! The names and the shapes of jitter are those of Linux netem (Hemminger 2005, "Network emulation with NetEm";
//! `net/sched/sch_netem.c`). There are three differences. Packets stay in order unless the configuration says
//! otherwise. Correlation does not change the distribution of delays. A reordered packet is held back, because RFC 4737
//! section 3.3 calls the late packet reordered; netem instead sends it without delay. Left out: corruption.

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

/// Receives lost packets, and makes the copies for duplication.
pub trait ImpairOutlet<B>: Outlet<B> {
    /// Makes a second packet with the same content. Returns `None` if memory is short; then there is no duplicate.
    fn copy(&mut self, packet: &Packet<B>) -> Option<Packet<B>>;
}

/// Packet counters of an impaired path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairCounters {
    /// Arrivals, deliveries and losses. Copies count as delivered, not as arrived.
    pub hop: HopCounters,
    /// Number of copies made.
    pub duplicated: u64,
    /// Number of packets held back for reordering.
    pub reordered: u64,
}

impl ImpairCounters {
    /// Returns whether every packet and copy is accounted for, when `inside` of them are still on the path.
    pub fn balance(&self, inside: u64) -> bool {
        let arrived = self.hop.arrived + self.duplicated;
        HopCounters { arrived, ..self.hop }.balance(inside)
    }
}

/// One direction of an impaired path. Drivers call it in the order of `gamelane_core`: timeouts,
/// [`Impairment::poll_deliver`] until `None`, then arrivals. A late call only delays the delivery of packets. All times
/// are computed from earlier times, never from the time of the call.
#[derive(Debug)]
pub struct Impairment<B> {
    config: ImpairConfig,
    loss: Loss,
    jitter: JitterProcess,
    reorder: Stream,
    duplicate: Stream,
    waiting: VecDeque<Packet<B>>,
    waiting_bytes: u64,
    /// The packet being serialised, and the time at which its last bit leaves.
    on_medium: Option<(Instant, Packet<B>)>,
    flying: BinaryHeap<Reverse<Flying<B>>>,
    /// Number of packets that left the medium so far; it breaks ties between equal arrival times.
    sequence: u64,
    /// Latest arrival so far of packets that were not held back. Packets that stay in order do not arrive before it.
    last_arrival: Instant,
    counters: ImpairCounters,
}

impl<B> Impairment<B> {
    /// Makes an empty path. The names of its random streams begin with `path`.
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

    /// The present settings.
    pub const fn config(&self) -> &ImpairConfig {
        &self.config
    }

    /// Changes the settings at `now`. The new rate holds for the queue and for the rest of the packet on the medium.
    /// Packets in flight keep their arrival times. They are not overtaken, so a shorter delay takes full effect only
    /// after they have arrived.
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

    /// Takes a packet in. Lost packets and packets that find the queue full go to `out`.
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

    /// Moves packets from the queue over the medium. In a late call each packet still leaves at its correct time.
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

    /// Returns the next packet that has arrived by `now`. Call it until it returns `None`.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Packet<B>> {
        if self.flying.peek()?.0.at > now {
            return None;
        }
        self.counters.hop.delivered += 1;
        self.flying.pop().map(|Reverse(flying)| flying.packet)
    }

    /// Time at which the next packet arrives or leaves the medium.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.flying.peek().map(|flying| flying.0.at);
        earliest(arrival, self.next_departure())
    }

    /// Time at which the next packet leaves the medium. A driver uses this instead while the far end accepts no
    /// packets.
    pub fn next_departure(&self) -> Option<Instant> {
        self.on_medium.as_ref().map(|(through, _)| *through)
    }

    /// Packet counters.
    pub const fn counters(&self) -> &ImpairCounters {
        &self.counters
    }

    /// Packets and bytes that wait for the medium.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.waiting_bytes }
    }

    /// Number of packets waiting, on the medium or in flight.
    pub fn inside(&self) -> u64 {
        (self.waiting.len() + usize::from(self.on_medium.is_some()) + self.flying.len()) as u64
    }

    /// Puts a packet in flight that left the medium at `from`: draws its delay, its reordering and its duplication.
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

/// A packet in flight. The order is by arrival time, then by the order of departure.
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
