//! Strict priority: the first band that has packets is served. This is FreeBSD's ALTQ PRIQ (`altq_priq.c`), Linux's
//! `prio` (`net/sched/sch_prio.c`) and the bridge of but2006 section III.B. A packet on the medium is not interrupted.
//! A busy band can starve the bands below it; only its own queue limits it.

use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{Instant, Outlet, Packet};

use crate::catalogue::DisciplineConfig;
use crate::class_map::ClassMap;
use crate::config::{Limit, ParameterSet, QueueConfig, QueueKind};
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};

/// Priority in the catalogue.
pub const PRIORITY: QueueDescriptor = QueueDescriptor {
    word: "priority",
    label: "Priority",
    about: "Strict priority (ALTQ PRIQ): a class sends only while all classes before it are empty. The \
            classes are the flows of `gateway.priority` and all others, or those of `gateway.class`. Each \
            class is a FIFO of `limit`, by default 50 packets.",
    keys: &["acks"],
    page: "priority",
    facts: QueueFacts { isolates: Isolates::Classes, plain: None, tc: Tc { name: "prio", options: &[] } },
};

/// Largest number of bands, as in PRIQ (`PRIQ_MAXPRI`) and in Linux (`TCQ_PRIO_BANDS`).
const MOST_BANDS: usize = 16;

/// Configuration of a priority queue.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityConfig {
    /// Queue of each band, highest priority first. PRIQ numbers them the other way: it serves priority 15 first.
    pub bands: Vec<DisciplineConfig>,
    /// Maps the class of a packet to a band.
    pub classes: ClassMap,
}

impl PriorityConfig {
    /// Makes PRIQ with the defaults of `pf.conf(5)`: each band is a drop-tail queue of 50 packets (`qlimit`).
    pub fn altq(bands: usize) -> Self {
        let queue = QueueConfig {
            limit: Some(Limit::Packets(50)),
            ..QueueConfig::new(QueueKind::Fifo, ParameterSet::Dummynet)
        };
        Self { bands: (0..bands).map(|_| queue.clone().into()).collect(), classes: ClassMap::default() }
    }

    /// Checks the configuration for packets of this many `classes`.
    ///
    /// # Errors
    /// No band or more than 16, a class map that does not fit, a band without a class, or an error of a band's queue.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        check_places(self.bands.len(), MOST_BANDS)?;
        self.classes.check(classes, self.bands.len())?;
        self.bands.iter().try_for_each(|band| band.check(classes))
    }
}

/// Checks that the number of places is from 1 to `most`.
pub(crate) const fn check_places(places: usize, most: usize) -> Result<(), ConfigError> {
    match places {
        0 => Err(ConfigError::NoPlaces),
        places if places > most => Err(ConfigError::TooManyPlaces { places, most }),
        _ => Ok(()),
    }
}

/// The strict priority discipline.
#[derive(Debug)]
pub struct Priority<Q> {
    bands: Vec<Q>,
    classes: ClassMap,
}

impl<Q> Priority<Q> {
    /// Makes the discipline from empty queues, highest priority first.
    ///
    /// # Panics
    ///
    /// If there is no band.
    pub fn new(bands: Vec<Q>, classes: ClassMap) -> Self {
        assert!(!bands.is_empty(), "a priority queue needs at least one band");
        Self { bands, classes }
    }
}

impl<B, Q: QueueDiscipline<B>> QueueDiscipline<B> for Priority<Q> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        let band = self.classes.place(packet.meta.class, self.bands.len());
        self.bands[band].enqueue(packet, now, out);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        let mut waiting = self.bands.iter_mut().filter(|band| !band.backlog().is_empty());
        waiting.find_map(|band| band.dequeue(now, out))
    }

    fn backlog(&self) -> Backlog {
        self.bands.iter().map(QueueDiscipline::<B>::backlog).sum()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.bands.iter().map(QueueDiscipline::<B>::ready_at).fold(None, earliest)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.bands.iter().map(QueueDiscipline::<B>::poll_timeout).fold(None, earliest)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.bands.iter_mut().for_each(|band| QueueDiscipline::<B>::handle_timeout(band, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Ledger, in_class};
    use crate::{AnyQueue, Fifo};
    use gamelane_core::{IpLen, Seed};
    use std::vec;

    fn queue(config: &PriorityConfig) -> AnyQueue<u64> {
        AnyQueue::build(
            &DisciplineConfig::Priority(config.clone()),
            config.bands.len(),
            IpLen(1500),
            Seed(1),
            "queue",
        )
        .unwrap()
    }

    #[test]
    fn the_game_packet_of_but2006_waits_for_the_packet_in_service_only() {
        // but2006 section II.A: four full packets, then a game packet of 100 B, at 192 kbit/s (62.5 ms per full
        // packet).
        let mut queue = queue(&PriorityConfig::altq(2));
        let mut ledger = Ledger::default();
        for number in 0..4 {
            queue.enqueue(in_class(1, 1500, number), Instant::ZERO, &mut ledger);
        }
        assert_eq!(queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body, 0);
        queue.enqueue(in_class(0, 100, 9), Instant::from_millis(1), &mut ledger);
        let order: Vec<u64> =
            core::iter::from_fn(|| queue.dequeue(Instant::from_micros(62_500), &mut ledger))
                .map(|p| p.body)
                .collect();
        assert_eq!(order, [9, 1, 2, 3]);
    }

    #[test]
    fn each_band_drops_by_its_own_limit() {
        let mut queue = queue(&PriorityConfig::altq(3));
        let mut ledger = Ledger::default();
        for number in 0..60 {
            queue.enqueue(in_class(2, 1500, number), Instant::ZERO, &mut ledger);
        }
        queue.enqueue(in_class(0, 100, 99), Instant::ZERO, &mut ledger);
        assert_eq!(ledger.dropped.len(), 10, "the bulk band holds 50 of 60 packets");
        assert_eq!((queue.backlog().packets, queue.backlog().bytes), (51, 75_100));
        assert_eq!(queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body, 99);
    }

    #[test]
    fn acks_in_front_of_data_are_a_band_of_their_own() {
        // Class 0 is the game, 1 pure ACKs, 2 the rest. Class 3 is not in the map and goes to the last band.
        let classes = ClassMap(vec![0, 1, 2]);
        let mut queue: Priority<Fifo<u64>> =
            Priority::new((0..3).map(|_| Fifo::new(Limit::Packets(50))).collect(), classes);
        let mut ledger = Ledger::default();
        for (number, class) in [2, 3, 1, 2, 1, 0].into_iter().enumerate() {
            queue.enqueue(in_class(class, 100, number as u64), Instant::ZERO, &mut ledger);
        }
        let order: Vec<u64> =
            core::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut ledger)).map(|p| p.body).collect();
        assert_eq!(order, [5, 2, 4, 0, 1, 3]);
    }

    #[test]
    fn bands_and_classes_must_fit() {
        let with = |bands, classes: &[u8]| PriorityConfig {
            classes: ClassMap(classes.to_vec()),
            ..PriorityConfig::altq(bands)
        };
        assert_eq!(with(2, &[]).check(2), Ok(()));
        assert_eq!(with(2, &[0, 1, 1]).check(4), Ok(()), "class 3 goes to the band of class 2");
        assert_eq!(with(0, &[]).check(1), Err(ConfigError::NoPlaces));
        assert_eq!(with(17, &[]).check(20), Err(ConfigError::TooManyPlaces { places: 17, most: 16 }));
        assert_eq!(
            with(2, &[0, 2]).check(2),
            Err(ConfigError::NoSuchPlace { class: 1, place: 2, places: 2 })
        );
        assert_eq!(with(2, &[0, 1, 0]).check(2), Err(ConfigError::NoSuchClass { class: 2, classes: 2 }));
        assert_eq!(with(2, &[0, 0]).check(2), Err(ConfigError::PlaceWithoutClass { place: 1 }));
        assert_eq!(with(3, &[]).check(2), Err(ConfigError::PlaceWithoutClass { place: 2 }));
    }
}
