//! Conservation: what came in is what went out, was dropped, or is still there.

use crate::outlet::DropReason;

/// Drops by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropReason::ALL.len()]);

impl DropCounts {
    /// Counts one drop.
    pub fn add(&mut self, reason: DropReason) {
        self.0[reason.index()] += 1;
    }

    /// Drops for one reason.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason.index()]
    }

    /// All drops.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The four numbers that must balance at every hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets handed to the hop.
    pub arrived: u64,
    /// Packets it delivered.
    pub delivered: u64,
    /// Packets it lost, by reason.
    pub dropped: DropCounts,
    /// Packets it marked.
    pub marked: u64,
}

impl HopCounters {
    /// True if arrivals equal deliveries, drops and the `inside` packets still queued or in flight.
    pub fn balance(&self, inside: u64) -> bool {
        self.arrived == self.delivered + self.dropped.total() + inside
    }
}
