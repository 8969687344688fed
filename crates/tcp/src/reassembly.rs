//! Data received above a hole: which ranges, how many bytes, and which of them to report first (RFC 2018 section 4: the
//! block that holds the newest segment, then those reported most recently).

use crate::segment::{SackBlock, SackBlocks};
use alloc::vec::Vec;

/// Ranges above the next byte expected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// Disjoint, not adjacent, ascending.
    ranges: Vec<SackBlock>,
    bytes: u64,
    /// Reported lately, newest first.
    recent: [SackBlock; REPORTED],
    recent_len: usize,
}

/// As many as a segment carries.
const REPORTED: usize = SackBlocks::CAPACITY;

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes held.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The blocks to report.
    pub(crate) fn report(&self) -> &[SackBlock] {
        &self.recent[..self.recent_len]
    }

    /// Takes in `start..end`, not empty. False if all of it was held already.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        let first = self.ranges.partition_point(|range| range.end < start);
        let mut merged = SackBlock { start, end };
        let mut last = first;
        let mut held = 0;
        while let Some(range) = self.ranges.get(last).filter(|range| range.start <= end) {
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(range.end);
            held += range.end - range.start;
            last += 1;
        }
        let fresh = merged.end - merged.start - held;
        if last == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
        self.bytes += fresh;
        self.show_first(merged);
        fresh > 0
    }

    /// `next` bytes are complete: gives the offset up to which they now are, and lets go of what is below.
    pub(crate) fn advance(&mut self, mut next: u64) -> u64 {
        let mut complete = 0;
        for range in &self.ranges {
            if range.start > next {
                break;
            }
            next = next.max(range.end);
            self.bytes -= range.end - range.start;
            complete += 1;
        }
        if complete > 0 {
            self.ranges.drain(..complete);
            self.retain_recent(|block| block.end > next);
        }
        next
    }

    fn show_first(&mut self, block: SackBlock) {
        self.retain_recent(|old| old.end < block.start || old.start > block.end);
        let kept = self.recent_len.min(REPORTED - 1);
        self.recent.copy_within(..kept, 1);
        self.recent[0] = block;
        self.recent_len = kept + 1;
    }

    fn retain_recent(&mut self, keep: impl Fn(&SackBlock) -> bool) {
        let mut kept = 0;
        for index in 0..self.recent_len {
            if keep(&self.recent[index]) {
                self.recent[kept] = self.recent[index];
                kept += 1;
            }
        }
        self.recent_len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(held: &Reassembly) -> Vec<(u64, u64)> {
        held.report().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_newest_block_is_reported_first() {
        let mut held = Reassembly::default();
        assert!(held.insert(20, 30));
        assert!(held.insert(40, 50));
        assert!(held.insert(60, 70));
        assert_eq!(reported(&held), [(60, 70), (40, 50), (20, 30)]);
        assert!(held.insert(30, 35));
        assert_eq!(reported(&held), [(20, 35), (60, 70), (40, 50)]);
        assert!(held.insert(80, 90));
        assert_eq!(reported(&held), [(80, 90), (20, 35), (60, 70)]);
    }

    #[test]
    fn ranges_merge_and_leave_when_complete() {
        let mut held = Reassembly::default();
        held.insert(20, 30);
        held.insert(40, 50);
        assert!(!held.insert(22, 28));
        assert!(held.insert(25, 45));
        assert_eq!((held.bytes(), reported(&held)), (30, [(20, 50)].to_vec()));
        assert_eq!(held.advance(10), 10);
        assert_eq!(held.advance(20), 50);
        assert!(held.is_empty());
        assert_eq!((held.bytes(), reported(&held).len()), (0, 0));
    }
}
