//! The queueing delays that a stage may know.

use gamelane_core::{Direction, Duration};

/// Queueing delays of both directions at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopView {
    /// Queueing delay of each direction, indexed by [`Direction::index`]; zero for an empty queue. The caller measures
    /// it as the sojourn of the last packet, or as backlog divided by rate.
    pub queue_delay: [Duration; 2],
}

impl HopView {
    /// Queueing delay of packets in this direction.
    pub const fn delay(&self, direction: Direction) -> Duration {
        self.queue_delay[direction.index()]
    }

    /// Queueing delay of a whole round trip.
    pub fn round_trip(&self) -> Duration {
        self.queue_delay[0] + self.queue_delay[1]
    }
}
