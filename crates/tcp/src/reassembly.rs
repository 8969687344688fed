//! Data received above a hole: its ranges, its number of bytes, and the SACK blocks to report. RFC 2018 section 4 gives
//! their order: first the block with the newest segment, then the most recently reported ones. Payload is left out; TCP
//! here moves lengths.

use crate::segment::{SackBlock, SackBlocks};
use alloc::vec::Vec;

/// Ranges received above the next expected byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// Disjoint, not adjacent, ascending.
    ranges: Vec<SackBlock>,
    bytes: u64,
    /// Blocks reported recently, newest first.
    recent: [SackBlock; REPORTED],
    recent_len: usize,
}

/// Maximum number of blocks in a segment.
const REPORTED: usize = SackBlocks::CAPACITY;

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes held above the next expected byte.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the SACK blocks to report.
    pub(crate) fn report(&self) -> &[SackBlock] {
        &self.recent[..self.recent_len]
    }

    /// Adds the non-empty range `start..end`. Returns false if all of it was already held.
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

    /// Returns the offset up to which data is complete, if all bytes below `next` are. Drops the ranges below that
    /// offset.
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
