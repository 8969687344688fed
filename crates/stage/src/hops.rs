//! What a stage may know of the queues around it.

use gamelane_core::{Direction, Duration};

/// The queues of the two hops at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopView {
    /// Delay a packet meets in the queue of each direction, as the caller measures it: the sojourn of the packet that
    /// left last, or backlog over rate. Zero for an empty queue. Indexed by [`Direction::index`].
    pub queue_delay: [Duration; 2],
}

impl HopView {
    /// Queueing delay of packets that go this way.
    pub const fn delay(&self, direction: Direction) -> Duration {
        self.queue_delay[direction.index()]
    }

    /// Queueing delay of a whole round trip.
    pub fn round_trip(&self) -> Duration {
        self.queue_delay[0] + self.queue_delay[1]
    }
}
