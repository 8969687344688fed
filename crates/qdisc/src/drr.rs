//! Deficit round robin over classes (Shreedhar and Varghese 1995; reference/aqm.md section 7): each class may send a
//! quantum of bytes a round, so classes share the link by the ratio of their quanta whatever the size of their packets.
//! The "bandwidth based" queueing burriss2006 names as further work. A class is charged after it has sent, as in RFC 8290,
//! since an AQM inside it may drop the packet that was in front.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Instant, Outlet, Packet};

use crate::class_map::ClassMap;
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::priority::check_places;
use crate::tree::DisciplineConfig;

/// Positions are bytes, and a class id is one.
const MOST_CLASSES: usize = 256;

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrClass {
    /// Bytes a round; one MTU or more keeps the work per packet constant.
    pub quantum: ByteCount,
    /// Its queue.
    pub queue: DisciplineConfig,
}

/// Deficit round robin as a scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrConfig {
    /// The classes.
    pub shares: Vec<DrrClass>,
    /// Which of them a packet's class is.
    pub classes: ClassMap,
}

impl DrrConfig {
    /// Finds what no queue can be built from, given how many classes packets are put in.
    ///
    /// # Errors
    /// No class, a quantum of zero, a map that does not fit, and those of the classes' queues.
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

/// The discipline.
#[derive(Debug)]
pub struct Drr<Q> {
    shares: Vec<Share<Q>>,
    classes: ClassMap,
    /// Classes with packets, in the order of the round.
    round: VecDeque<u8>,
}

impl<Q> Drr<Q> {
    /// Empty classes; there must be one.
    pub fn new(shares: impl Iterator<Item = (ByteCount, Q)>, classes: ClassMap) -> Self {
        let share = |(quantum, queue): (ByteCount, Q)| {
            assert!(quantum > ByteCount::ZERO, "a class without a quantum never sends");
            Share { queue, quantum: quantum.bytes() as i64, deficit: 0, active: false }
        };
        let shares: Vec<_> = shares.map(share).collect();
        assert!(!shares.is_empty(), "deficit round robin has a class");
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
        // Classes in a row that had packets and might have sent, but gave none: their own shapers hold them back.
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
                // What was not used is lost, what was used too much stays owed.
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
        // Half, a quarter, a quarter of 600 kB, within one quantum.
        for (got, due) in bytes.into_iter().zip([300_000, 150_000, 150_000]) {
            assert!(got.abs_diff(due) <= 3000, "{bytes:?}");
        }
    }

    #[test]
    fn a_round_by_hand() {
        // Quantum 500: a packet of 1500 overdraws by 1000, so it comes back after two more rounds of the other.
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
        // It went 1400 over with each packet of its own; the other is served first now.
        queue.enqueue(in_class(0, 1500, 10), Instant::ZERO, &mut ledger);
        queue.enqueue(in_class(1, 1500, 20), Instant::ZERO, &mut ledger);
        assert_eq!(queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body, 20);
    }
}
