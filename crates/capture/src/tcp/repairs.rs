//! List of recent retransmissions, unacknowledged or just acknowledged. It finds the retransmission that brought given
//! data, and the one that a DSACK (RFC 2883) reports as unnecessary. Why data was sent again is left to `cause`.

use std::collections::VecDeque;

use super::cause::Cause;

/// The latest retransmissions, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs(VecDeque<Repair>);

#[derive(Clone, Copy, Debug)]
struct Repair {
    start: u64,
    end: u64,
    cause: Cause,
    spurious: bool,
}

impl Repairs {
    /// Adds a retransmission.
    pub(crate) fn add(&mut self, start: u64, end: u64, cause: Cause) {
        if self.0.len() == MAX_REPAIRS {
            self.0.pop_front();
        }
        self.0.push_back(Repair { start, end, cause, spurious: false });
    }

    /// Cause of the last retransmission with bytes of `start..end`.
    pub(crate) fn cause_of(&self, start: u64, end: u64) -> Option<Cause> {
        let touching = |repair: &&Repair| repair.start < end && start < repair.end;
        self.0.iter().rev().find(touching).map(|repair| repair.cause)
    }

    /// Handles a DSACK for `start..end`. Returns the cause of the unnecessary retransmission, once for each.
    pub(crate) fn reported_twice(&mut self, start: u64, end: u64) -> Option<Cause> {
        let covered = |repair: &&mut Repair| !repair.spurious && repair.start <= start && end <= repair.end;
        let repair = self.0.iter_mut().rev().find(covered)?;
        repair.spurious = true;
        Some(repair.cause)
    }

    /// Removes retransmissions below `ack`. A few are kept, because a DSACK may follow.
    pub(crate) fn acknowledged(&mut self, ack: u64) {
        while self.0.len() > KEPT && self.0.front().is_some_and(|repair| repair.end <= ack) {
            self.0.pop_front();
        }
    }
}

const MAX_REPAIRS: usize = 512;
const KEPT: usize = 16;
