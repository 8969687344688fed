//! Timestamps of one direction (RFC 7323) and the time when each first passed. Echoes are measured from that time, so
//! retransmissions do not matter.

use std::collections::VecDeque;

/// Timestamps that were sent and not echoed yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    sent: VecDeque<(u32, u64)>,
    newest: Option<u32>,
}

impl Stamps {
    /// Records the timestamp of a packet.
    pub(crate) fn sent(&mut self, stamp: u32, at_ns: u64) {
        if self.newest.is_none_or(|newest| is_before(newest, stamp)) {
            self.newest = Some(stamp);
            if self.sent.len() == MAX_STAMPS {
                self.sent.pop_front();
            }
            self.sent.push_back((stamp, at_ns));
        }
    }

    /// Forgets all timestamps.
    pub(crate) fn clear(&mut self) {
        self.sent.clear();
        self.newest = None;
    }

    /// True if a newer timestamp was sent.
    pub(crate) fn is_older(&self, stamp: u32) -> bool {
        self.newest.is_some_and(|newest| is_before(stamp, newest))
    }

    /// Time since the timestamp `echo` first passed.
    pub(crate) fn age(&self, echo: u32, at_ns: u64) -> Option<u64> {
        let mut newer = self.sent.iter().skip_while(|&&(stamp, _)| is_before(stamp, echo));
        newer.next().filter(|&&(stamp, _)| stamp == echo).map(|&(_, sent)| at_ns.saturating_sub(sent))
    }

    /// Like [`Stamps::age`], at the first echo of the timestamp. Older timestamps are dropped.
    pub(crate) fn echoed(&mut self, echo: u32, at_ns: u64) -> Option<u64> {
        while self.sent.front().is_some_and(|&(stamp, _)| is_before(stamp, echo)) {
            self.sent.pop_front();
        }
        let &(_, sent) = self.sent.front().filter(|&&(stamp, _)| stamp == echo)?;
        self.sent.pop_front();
        Some(at_ns.saturating_sub(sent))
    }
}

/// Compares timestamps that may wrap around.
const fn is_before(stamp: u32, other: u32) -> bool {
    (stamp.wrapping_sub(other) as i32) < 0
}

const MAX_STAMPS: usize = 256;
