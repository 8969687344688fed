//! Connections by their 5-tuple, in a table of fixed size: a hash picks a row, a row holds a few. A newcomer takes an empty
//! place, that of a connection long silent, or that of one whose handshake never ended, so a flood of SYNs cannot push out
//! what works; with none of these the newcomer stays unknown and passes untouched.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::rng::mix;
use gamelane_core::{Duration, FlowKey, Instant};

use super::connection::Connection;

#[derive(Clone, Debug)]
pub(super) struct Table {
    places: Vec<Option<(FlowKey, Connection)>>,
    rows: usize,
    salt: u64,
    idle: Duration,
}

impl Table {
    /// `salt` keeps whoever knows the hash from aiming at a row.
    pub(super) fn new(connections: u32, idle: Duration, salt: u64) -> Self {
        let rows = (connections as usize).div_ceil(ROW).next_power_of_two();
        Self { places: vec![None; rows * ROW], rows, salt, idle }
    }

    pub(super) fn get_mut(&mut self, key: &FlowKey) -> Option<&mut Connection> {
        let row = self.row(key);
        self.places[row..row + ROW]
            .iter_mut()
            .flatten()
            .find(|place| place.0 == *key)
            .map(|place| &mut place.1)
    }

    /// Puts a connection in, over one of the same key; false if there is no room.
    pub(super) fn insert(&mut self, key: FlowKey, connection: Connection, now: Instant) -> bool {
        let row = self.row(&key);
        let idle = self.idle;
        let rank = |place: &Option<(FlowKey, Connection)>| match place {
            Some((other, _)) if *other == key => Some((0, Duration::MAX)),
            None => Some((1, Duration::MAX)),
            Some((_, other)) => {
                let silent = now.saturating_since(other.last_seen);
                (silent >= idle || !other.is_open())
                    .then_some((2, Duration::from_nanos(u64::MAX - silent.as_nanos())))
            }
        };
        let places = self.places[row..row + ROW].iter_mut();
        let best =
            places.filter_map(|place| rank(place).map(|rank| (rank, place))).min_by_key(|(rank, _)| *rank);
        match best {
            Some((_, place)) => {
                *place = Some((key, connection));
                true
            }
            None => false,
        }
    }

    pub(super) fn remove(&mut self, key: &FlowKey) {
        let row = self.row(key);
        for place in &mut self.places[row..row + ROW] {
            if place.as_ref().is_some_and(|place| place.0 == *key) {
                *place = None;
            }
        }
    }

    fn row(&self, key: &FlowKey) -> usize {
        (mix(u64::from(key.hash()) ^ self.salt) as usize & (self.rows - 1)) * ROW
    }
}

/// Connections in a row.
const ROW: usize = 8;
