//! Retransmissions not yet acknowledged, or just so: whose data they brought, and which of them a DSACK (RFC 2883) reports.

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
    /// Data was sent again.
    pub(crate) fn add(&mut self, start: u64, end: u64, cause: Cause) {
        if self.0.len() == MAX_REPAIRS {
            self.0.pop_front();
        }
        self.0.push_back(Repair { start, end, cause, spurious: false });
    }

    /// Why bytes of `start..end` were last sent again.
    pub(crate) fn cause_of(&self, start: u64, end: u64) -> Option<Cause> {
        let touching = |repair: &&Repair| repair.start < end && start < repair.end;
        self.0.iter().rev().find(touching).map(|repair| repair.cause)
    }

    /// The receiver had `start..end` already: the cause of the retransmission that was not needed, told once.
    pub(crate) fn reported_twice(&mut self, start: u64, end: u64) -> Option<Cause> {
        let covered = |repair: &&mut Repair| !repair.spurious && repair.start <= start && end <= repair.end;
        let repair = self.0.iter_mut().rev().find(covered)?;
        repair.spurious = true;
        Some(repair.cause)
    }

    /// All before `ack` arrived. A few stay a while: a DSACK may follow.
    pub(crate) fn acknowledged(&mut self, ack: u64) {
        while self.0.len() > KEPT && self.0.front().is_some_and(|repair| repair.end <= ack) {
            self.0.pop_front();
        }
    }
}

const MAX_REPAIRS: usize = 512;
const KEPT: usize = 16;
