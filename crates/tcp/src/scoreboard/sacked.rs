//! Marks segments as SACKed (RFC 6675 section 4, `Update`). Receivers repeat blocks and extend them. Therefore the
//! recently marked ranges are remembered, and only the new part of a block is searched. D-SACK blocks are left to
//! `sender::spurious`.

use super::Scoreboard;
use crate::segment::SackBlock;
use gamelane_core::ByteCount;

/// Recently marked ranges, extended to whole segments.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownBlocks {
    blocks: [SackBlock; 4],
    /// Index of the range to replace next.
    oldest: usize,
}

impl Scoreboard {
    /// Marks all segments that `blocks` cover. Returns the newly marked amount in units of the congestion window.
    /// Invalid blocks are ignored.
    pub fn sack(&mut self, blocks: impl IntoIterator<Item = SackBlock>) -> ByteCount {
        let mut fresh = 0;
        for block in blocks {
            if block.start < block.end && block.end <= self.next && block.end > self.una {
                fresh += self.sack_block(block);
            }
        }
        ByteCount(fresh)
    }

    fn sack_block(&mut self, mut block: SackBlock) -> u64 {
        self.known.trim(&mut block);
        if block.start >= block.end {
            return 0;
        }
        let first = self.segments.partition_point(|sent| sent.start < block.start);
        let mut index = first;
        let mut fresh = 0;
        while index < self.segments.len() && self.segments[index].end <= block.end {
            if !self.segments[index].sacked {
                fresh += self.mark_sacked(index);
            }
            index += 1;
        }
        if index > first {
            self.known
                .add(SackBlock { start: self.segments[first].start, end: self.segments[index - 1].end });
        }
        fresh
    }

    fn mark_sacked(&mut self, index: usize) -> u64 {
        let position = self.front + index as u64;
        let sent = &mut self.segments[index];
        self.pipe -= sent.pipe(self.weight);
        sent.sacked = true;
        self.delivery.note_sacked(sent);
        let len = self.weight.of(sent.sequence_len());
        self.delivered += len;
        self.sacked_below = self.sacked_below.max(position + 1);
        if position >= self.lost_below {
            self.sacked_above += len;
            let left = position > self.lost_below && self.is_sacked(index - 1);
            let right = self.is_sacked(index + 1);
            self.runs_above = self.runs_above + 1 - u32::from(left) - u32::from(right);
        }
        len
    }
}

impl KnownBlocks {
    /// Cuts known ranges off both ends of `block`.
    fn trim(&self, block: &mut SackBlock) {
        for known in &self.blocks {
            if known.start <= block.start && block.start < known.end {
                block.start = known.end;
            }
            if known.start < block.end && block.end <= known.end {
                block.end = known.start;
            }
        }
    }

    /// Extends a known range that touches `range`, or else replaces the oldest one.
    fn add(&mut self, range: SackBlock) {
        for known in &mut self.blocks {
            if known.end == range.start {
                known.end = range.end;
                return;
            }
            if known.start == range.end {
                known.start = range.start;
                return;
            }
        }
        self.blocks[self.oldest] = range;
        self.oldest = (self.oldest + 1) % self.blocks.len();
    }
}
