//! Deficit round robin over classes (Shreedhar and Varghese 1995). Each class may send a quantum of bytes per round, so
//! classes share the link in the ratio of their quanta, whatever the size of their packets. burriss2006 names this as
//! further work ("bandwidth based" queueing). Unlike the original, a class is charged after it has sent, as in RFC
//! 8290. The reason is that an AQM law in the class may drop the packet at the head.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Instant, Outlet, Packet};

use crate::catalogue::DisciplineConfig;
use crate::class_map::ClassMap;
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};
use crate::priority::check_places;

/// DRR in the catalogue.
pub const DRR: QueueDescriptor = QueueDescriptor {
    word: "drr",
    label: "DRR",
    about: "Deficit round robin: classes take turns, each with its quantum. It has the classes of \
            `priority`.",
    keys: &["acks"],
    page: "drr",
    facts: QueueFacts { isolates: Isolates::Classes, plain: None, tc: Tc { name: "drr", options: &[] } },
};

/// Largest number of classes: the number of a class is one byte.
const MOST_CLASSES: usize = 256;

/// Configuration of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrClass {
    /// Bytes per round. With at least one MTU the work per packet is constant.
    pub quantum: ByteCount,
    /// Queue of the class.
    pub queue: DisciplineConfig,
}

/// Configuration of deficit round robin.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrConfig {
    /// Quantum and queue of each class of the scheduler.
    pub shares: Vec<DrrClass>,
    /// Maps the class of a packet to an index in `shares`.
    pub classes: ClassMap,
}

impl DrrConfig {
    /// Checks the configuration for packets of this many `classes`.
    ///
    /// # Errors
    /// No class or more than 256, a quantum of zero, a class map that does not fit, or an error of an inner queue.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        check_places(self.shares.len(), MOST_CLASSES)?;
        if let Some(place) = self.shares.iter().position(|share| share.quantum == ByteCount::ZERO) {
            return Err(ConfigError::ZeroQuantum { place });
        }
        self.classes.check(classes, self.shares.len())?;
        self.shares.iter().try_for_each(|share| share.queue.check(classes))
    }
}

#[derive(Debug)]
struct Share<Q> {
    queue: Q,
    quantum: i64,
    deficit: i64,
    active: bool,
}

/// The deficit round robin discipline.
#[derive(Debug)]
pub struct Drr<Q> {
    shares: Vec<Share<Q>>,
    classes: ClassMap,
    /// Indices of the classes with packets, in the order of the round.
    round: VecDeque<u8>,
}

impl<Q> Drr<Q> {
    /// Makes the discipline with empty queues.
    ///
    /// # Panics
    ///
    /// If there is no class or a quantum is zero.
    pub fn new(shares: impl Iterator<Item = (ByteCount, Q)>, classes: ClassMap) -> Self {
        let share = |(quantum, queue): (ByteCount, Q)| {
            assert!(
                quantum > ByteCount::ZERO,
                "the quantum of a class must be above zero, otherwise the class never sends"
            );
            Share { queue, quantum: quantum.bytes() as i64, deficit: 0, active: false }
        };
        let shares: Vec<_> = shares.map(share).collect();
        assert!(!shares.is_empty(), "deficit round robin needs at least one class");
        let round = VecDeque::with_capacity(shares.len());
        Self { shares, classes, round }
    }
}

impl<B, Q: QueueDiscipline<B>> QueueDiscipline<B> for Drr<Q> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        let place = self.classes.place(packet.meta.class, self.shares.len());
        let share = &mut self.shares[place];
        share.queue.enqueue(packet, now, out);
        if !share.active && !share.queue.backlog().is_empty() {
            share.active = true;
            share.deficit += share.quantum;
            self.round.push_back(place as u8);
        }
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        // Number of classes in a row that have packets and a deficit, but whose queue returned none: its own shaper
        // holds them back.
        let mut held = 0;
        while held < self.round.len() {
            let place = self.round[0];
            let share = &mut self.shares[usize::from(place)];
            if share.deficit <= 0 {
                share.deficit += share.quantum;
                self.round.rotate_left(1);
                held = 0;
                continue;
            }
            let packet = share.queue.dequeue(now, out);
            if let Some(packet) = &packet {
                share.deficit -= packet.meta.len.bytes() as i64;
            }
            if share.queue.backlog().is_empty() {
                // A class that becomes empty loses its unused deficit but keeps a negative one.
                share.deficit = share.deficit.min(0);
                share.active = false;
                self.round.pop_front();
                held = 0;
            } else if packet.is_none() {
                self.round.rotate_left(1);
                held += 1;
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.shares.iter().map(|share| QueueDiscipline::<B>::backlog(&share.queue)).sum()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.shares.iter().map(|share| QueueDiscipline::<B>::ready_at(&share.queue)).fold(None, earliest)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.shares.iter().map(|share| QueueDiscipline::<B>::poll_timeout(&share.queue)).fold(None, earliest)
    }

    fn handle_timeout(&mut self, now: Instant) {
        for share in &mut self.shares {
            QueueDiscipline::<B>::handle_timeout(&mut share.queue, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fifo;
    use crate::config::Limit;
    use crate::fixture::{Ledger, in_class};

    fn queue(quanta: &[u64]) -> Drr<Fifo<u64>> {
        let shares = quanta.iter().map(|&quantum| (ByteCount(quantum), Fifo::new(Limit::Packets(10_000))));
        Drr::new(shares, ClassMap::default())
    }

    #[test]
    fn classes_share_by_their_quanta_whatever_their_packets() {
        let mut queue = queue(&[3000, 1500, 1500]);
        let mut ledger = Ledger::default();
        for number in 0..6_000 {
            queue.enqueue(in_class(0, 300, number), Instant::ZERO, &mut ledger);
            queue.enqueue(in_class(1, 1500, number), Instant::ZERO, &mut ledger);
            queue.enqueue(in_class(2, 64, number), Instant::ZERO, &mut ledger);
        }
        let mut bytes = [0u64; 3];
        while bytes.iter().sum::<u64>() < 600_000 {
            let packet = queue.dequeue(Instant::ZERO, &mut ledger).unwrap();
            bytes[packet.meta.class.index()] += packet.meta.len.bytes();
        }
        // A half, a quarter and a quarter of 600 kB, within one quantum.
        for (got, due) in bytes.into_iter().zip([300_000, 150_000, 150_000]) {
            assert!(got.abs_diff(due) <= 3000, "{bytes:?}");
        }
    }

    #[test]
    fn a_round_by_hand() {
        // Quantum 500: a packet of 1500 B leaves a deficit of -1000, so the class waits two rounds before it sends
        // again.
        let mut queue = queue(&[500, 500]);
        let mut ledger = Ledger::default();
        for number in 0..3 {
            queue.enqueue(in_class(0, 1500, number), Instant::ZERO, &mut ledger);
        }
        for number in 10..20 {
            queue.enqueue(in_class(1, 500, number), Instant::ZERO, &mut ledger);
        }
        let order: Vec<u64> =
            core::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut ledger)).map(|p| p.body).collect();
        assert_eq!(order, [0, 10, 11, 12, 1, 13, 14, 15, 2, 16, 17, 18, 19]);
    }

    #[test]
    fn a_class_alone_has_the_whole_link_and_keeps_its_debt() {
        let mut queue = queue(&[100, 100]);
        let mut ledger = Ledger::default();
        for number in 0..10 {
            queue.enqueue(in_class(0, 1500, number), Instant::ZERO, &mut ledger);
            assert_eq!(queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body, number);
        }
        // Each packet exceeded the quantum by 1400 B. The class still has this debt, so the other class is served
        // first.
        queue.enqueue(in_class(0, 1500, 10), Instant::ZERO, &mut ledger);
        queue.enqueue(in_class(1, 1500, 20), Instant::ZERO, &mut ledger);
        assert_eq!(queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body, 20);
    }
}
