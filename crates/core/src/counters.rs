//! Packet counters of a hop, and the check that they balance: arrived = delivered + dropped + still inside.
//! Byte counts are not kept here.

use crate::outlet::DropReason;

/// Number of dropped packets for each [`DropReason`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropReason::ALL.len()]);

impl DropCounts {
    /// Counts one dropped packet.
    pub fn add(&mut self, reason: DropReason) {
        self.0[reason.index()] += 1;
    }

    /// Counts several packets dropped for one reason.
    pub fn add_many(&mut self, reason: DropReason, packets: u64) {
        self.0[reason.index()] += packets;
    }

    /// Packets dropped for one reason.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0[reason.index()]
    }

    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Packet counts of a hop. [`HopCounters::balance`] checks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets handed to the hop.
    pub arrived: u64,
    /// Packets delivered to the far end.
    pub delivered: u64,
    /// Packets dropped or lost, by reason.
    pub dropped: DropCounts,
    /// Packets marked [`crate::Ecn::Ce`]. They are also counted as delivered or dropped.
    pub marked: u64,
}

impl HopCounters {
    /// Returns whether `arrived` equals deliveries plus drops plus `inside`, the packets still queued or in flight.
    pub fn balance(&self, inside: u64) -> bool {
        self.arrived == self.delivered + self.dropped.total() + inside
    }
}
