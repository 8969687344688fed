//! Table of connections by their 5-tuple. It has a fixed size; a hash selects a row of eight entries.
//!
//! A new connection takes a free entry, or replaces one that has been idle for long or whose handshake is not over. So
//! a flood of SYNs cannot replace working connections. If there is no such entry, the new connection is not stored and
//! passes unchanged.

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
    /// Makes an empty table. With the secret `salt` an attacker cannot choose a row.
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

    /// Stores a connection; an entry with the same key is replaced. Returns false if there is no room.
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

/// Number of entries in a row.
const ROW: usize = 8;
