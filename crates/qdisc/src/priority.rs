//! Strict priority: the first band that has a packet sends it. FreeBSD's ALTQ PRIQ, Linux's `prio` (reference/aqm.md
//! section 7), the bridge of but2006 section III.B. A packet on the medium is not interrupted, and nothing keeps a busy
//! band from starving those below it; what limits a band is its own queue.

use alloc::vec::Vec;
use gamelane_core::time::earliest;
use gamelane_core::{Instant, Outlet, Packet};

use crate::class_map::ClassMap;
use crate::config::{Limit, ParameterSet, QueueConfig, QueueKind};
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::tree::DisciplineConfig;

/// Bands of PRIQ and of Linux's `prio`.
const MOST_BANDS: usize = 16;

/// A priority queue as a scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityConfig {
    /// The queue of each band, most urgent first. (PRIQ counts the other way: its priority 15 is served first.)
    pub bands: Vec<DisciplineConfig>,
    /// Band of each class.
    pub classes: ClassMap,
}

impl PriorityConfig {
    /// PRIQ as `pf.conf` makes it where it says nothing: each band a drop-tail queue of 50 packets (ALTQ `qlimit`).
    pub fn altq(bands: usize) -> Self {
        let queue = QueueConfig {
            limit: Some(Limit::Packets(50)),
            ..QueueConfig::new(QueueKind::Fifo, ParameterSet::Dummynet)
        };
        Self { bands: (0..bands).map(|_| queue.clone().into()).collect(), classes: ClassMap::default() }
    }

    /// Finds what no queue can be built from, given how many classes packets are put in.
    ///
    /// # Errors
    /// No band or more than 16, a class without a band, a band without a class, and those of the bands' queues.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        check_places(self.bands.len(), MOST_BANDS)?;
        self.classes.check(classes, self.bands.len())?;
        self.bands.iter().try_for_each(|band| band.check(classes))
    }
}

/// There are some places, but not too many.
pub(crate) const fn check_places(places: usize, most: usize) -> Result<(), ConfigError> {
    match places {
        0 => Err(ConfigError::NoPlaces),
        places if places > most => Err(ConfigError::TooManyPlaces { places, most }),
        _ => Ok(()),
    }
}

/// The discipline.
#[derive(Debug)]
pub struct Priority<Q> {
    bands: Vec<Q>,
    classes: ClassMap,
}

impl<Q> Priority<Q> {
    /// Empty bands, most urgent first; there must be one.
    pub fn new(bands: Vec<Q>, classes: ClassMap) -> Self {
        assert!(!bands.is_empty(), "a priority queue has a band");
        Self { bands, classes }
    }

    /// The queue of each band.
    pub fn bands(&self) -> &[Q] {
        &self.bands
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
        // Section II.A: four full packets, then a game packet of 100 B, at 192 kbit/s (62.5 ms a full packet).
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
        assert_eq!(ledger.dropped.len(), 10, "the bulk band is full at 50");
        assert_eq!((queue.backlog().packets, queue.backlog().bytes), (51, 75_100));
        assert_eq!(queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body, 99);
    }

    #[test]
    fn acks_in_front_of_data_are_a_band_of_their_own() {
        // Classes: 0 game, 1 pure ACKs, 2 the rest; 3 unknown goes with the rest.
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
        assert_eq!(with(2, &[0, 1, 1]).check(4), Ok(()), "the fourth class goes with the third");
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
