//! HTB: classes with rates, ceilings and borrowing, after Linux `net/sched/sch_htb.c`. A class may always send at its
//! rate. Above its rate, up to its ceiling, it borrows what its ancestors have left. burriss2006 names this as further
//! work ("class based" queueing).
//!
//! Among the classes that may send, the order is: the one that borrows from the nearest ancestor, then the highest
//! priority, then deficit round robin. HTB is not work conserving, because packets above the ceilings wait. Left out:
//! mode hysteresis, and the event trees that make Linux's cost independent of the number of classes.

mod bucket;
pub mod config;

use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Instant, IpLen, Outlet, Overhead, Packet, WireLen};

use crate::class_map::ClassMap;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};
use bucket::Bucket;

pub use config::{HtbClass, HtbConfig};

/// HTB in the catalogue.
pub const HTB: QueueDescriptor = QueueDescriptor {
    word: "htb",
    label: "HTB",
    about: "Hierarchical token bucket: classes have guaranteed rates and borrow up to their ceilings. It \
            has the classes of `priority`. With `gateway.priority`, all classes have equal rates, and \
            those of the named flows borrow first.",
    keys: &["acks", "bandwidth", "overhead"],
    page: "htb",
    facts: QueueFacts { isolates: Isolates::Classes, plain: None, tc: Tc { name: "htb", options: &[] } },
};

/// Number of levels at which a leaf can be served: its own rate, or the rate of one of at most seven ancestors.
const LEVELS: usize = 8;

/// State of a class, leaf or inner.
#[derive(Debug)]
struct Class {
    parent: Option<usize>,
    /// Level at which the class lends: 0 for a leaf, highest for the root.
    level: usize,
    rate: Bucket,
    ceil: Bucket,
}

#[derive(Debug)]
struct Leaf<Q> {
    class: usize,
    priority: usize,
    quantum: i64,
    /// Deficits, indexed by the level at which the leaf is served.
    deficits: [i64; LEVELS],
    queue: Q,
}

/// The HTB discipline.
#[derive(Debug)]
pub struct Htb<Q> {
    classes: Vec<Class>,
    leaves: Vec<Leaf<Q>>,
    map: ClassMap,
    overhead: Overhead,
    /// Index of the leaf whose turn it is, by level and priority.
    turn: [[u8; HtbConfig::PRIORITIES]; LEVELS],
}

impl<Q> Htb<Q> {
    /// Makes the discipline with full buckets from a checked configuration. `queues` has one empty queue per leaf, in
    /// order.
    pub(crate) fn new(config: &HtbConfig, queues: Vec<Q>, mtu: IpLen) -> Self {
        let class = |(index, class): (usize, &HtbClass)| {
            let burst = class.burst.unwrap_or(ByteCount::ZERO);
            Class {
                parent: class.parent,
                level: if config.is_leaf(index) { 0 } else { LEVELS - 1 - config.depth(index) },
                rate: Bucket::new(class.rate, burst),
                ceil: Bucket::new(class.ceil, burst),
            }
        };
        let leaves = config.leaves().zip(queues).map(|(index, queue)| {
            let class = &config.tree[index];
            Leaf {
                class: index,
                priority: usize::from(class.priority),
                quantum: class.quantum.map_or(mtu.bytes(), |quantum| quantum.bytes()) as i64,
                deficits: [0; LEVELS],
                queue,
            }
        });
        Self {
            classes: config.tree.iter().enumerate().map(class).collect(),
            leaves: leaves.collect(),
            map: config.classes.clone(),
            overhead: config.overhead,
            turn: [[0; HtbConfig::PRIORITIES]; LEVELS],
        }
    }

    /// Returns the level at which a leaf may send now: 0 with its own rate, higher with the rate of an ancestor. `None`
    /// if it may not send.
    fn level(&self, leaf: usize, now: Instant) -> Option<usize> {
        let mut index = self.leaves[leaf].class;
        loop {
            let class = &self.classes[index];
            if !class.ceil.is_open(now) {
                return None;
            }
            if class.rate.is_open(now) {
                return Some(class.level);
            }
            index = class.parent?;
        }
    }

    /// Time from which a leaf may send, if no other class sends before.
    fn open_at(&self, leaf: usize) -> Instant {
        let (mut index, mut ceilings, mut soonest) = (self.leaves[leaf].class, Instant::ZERO, Instant::MAX);
        loop {
            let class = &self.classes[index];
            ceilings = ceilings.max(class.ceil.opens_at());
            soonest = soonest.min(ceilings.max(class.rate.opens_at()));
            match class.parent {
                Some(parent) => index = parent,
                None => return soonest,
            }
        }
    }

    /// Charges a packet: to the rate bucket of the lending class and its ancestors, and to the ceiling bucket of every
    /// class from the leaf to the root (Linux `htb_charge_class`).
    fn charge(&mut self, leaf: usize, level: usize, len: WireLen, now: Instant) {
        let mut next = Some(self.leaves[leaf].class);
        while let Some(index) = next {
            let class = &mut self.classes[index];
            if class.level >= level {
                class.rate.take(len, now);
            }
            class.ceil.take(len, now);
            next = class.parent;
        }
    }
}

impl<B, Q: QueueDiscipline<B>> QueueDiscipline<B> for Htb<Q> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        let leaf = self.map.place(packet.meta.class, self.leaves.len());
        self.leaves[leaf].queue.enqueue(packet, now, out);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        // Bit set of leaves whose queue has packets but returned none: its own shaper holds them back.
        let mut held = 0u64;
        loop {
            let mut best: Option<(usize, usize, usize, usize)> = None;
            for (index, leaf) in self.leaves.iter().enumerate() {
                if held & (1 << index) != 0 || leaf.queue.backlog().is_empty() {
                    continue;
                }
                let Some(level) = self.level(index, now) else { continue };
                let turn = usize::from(self.turn[level][leaf.priority]);
                let wait = (index + self.leaves.len() - turn) % self.leaves.len();
                let candidate = (level, leaf.priority, wait, index);
                best = Some(best.map_or(candidate, |best| best.min(candidate)));
            }
            let (level, priority, _, index) = best?;
            let leaf = &mut self.leaves[index];
            let Some(packet) = leaf.queue.dequeue(now, out) else {
                held |= 1 << index;
                continue;
            };
            let deficit = &mut leaf.deficits[level];
            *deficit -= packet.meta.len.bytes() as i64;
            self.turn[level][priority] = index as u8;
            if *deficit < 0 {
                *deficit += leaf.quantum;
                self.turn[level][priority] = ((index + 1) % self.leaves.len()) as u8;
            }
            self.charge(index, level, self.overhead.wire_len(packet.meta.len), now);
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.leaves.iter().map(|leaf| QueueDiscipline::<B>::backlog(&leaf.queue)).sum()
    }

    fn ready_at(&self) -> Option<Instant> {
        let ready = |(index, leaf): (usize, &Leaf<Q>)| {
            QueueDiscipline::<B>::ready_at(&leaf.queue).map(|ready| ready.max(self.open_at(index)))
        };
        self.leaves.iter().enumerate().map(ready).fold(None, earliest)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.leaves.iter().map(|leaf| QueueDiscipline::<B>::poll_timeout(&leaf.queue)).fold(None, earliest)
    }

    fn handle_timeout(&mut self, now: Instant) {
        for leaf in &mut self.leaves {
            QueueDiscipline::<B>::handle_timeout(&mut leaf.queue, now);
        }
    }
}

#[cfg(test)]
mod tests;
