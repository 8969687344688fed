//! Which segments count as lost: by what was received above them (RFC 6675 section 4, `IsLost`), by their distance from the
//! highest received (FACK), all of them after a timeout, and none if that was not needed. By time: see `delivery`.

use super::{DUPLICATE_THRESHOLD, Scoreboard};
use gamelane_core::ByteCount;

impl Scoreboard {
    /// Takes segments for lost by RFC 6675's `IsLost`: more than two segments' bytes, or three runs, sacked above.
    pub fn detect_losses(&mut self, mss: ByteCount) {
        let enough = u64::from(DUPLICATE_THRESHOLD - 1) * mss.bytes();
        while self.sacked_above > enough || self.runs_above >= DUPLICATE_THRESHOLD {
            self.lose_next();
        }
    }

    /// Takes for lost what is more than `segments` segments below the end of the highest sacked one.
    pub fn lose_far_below_sacked(&mut self, segments: u32) {
        while self.lost_below + u64::from(segments) < self.sacked_below {
            self.lose_next();
        }
    }

    fn lose_next(&mut self) {
        let index = (self.lost_below - self.front) as usize;
        if !self.segments[index].sacked {
            self.mark_lost(index);
        }
        self.pass_lost_edge();
    }

    /// Takes one segment for lost.
    pub fn mark_lost(&mut self, index: usize) {
        let sent = &mut self.segments[index];
        self.pipe -= sent.pipe(self.weight);
        sent.lost = true;
        self.pipe += sent.pipe(self.weight);
    }

    /// After a timeout: everything not sacked is lost and to be sent again. If even the oldest segment is sacked the
    /// receiver has gone back on its word (RFC 2018 section 8), and no SACK is believed.
    pub fn mark_all_lost(&mut self) {
        let reneged = self.segments.front().is_some_and(|sent| sent.sacked);
        for sent in &mut self.segments {
            sent.sacked &= !reneged;
            sent.lost = true;
            sent.resent = false;
        }
        if reneged {
            self.known = super::KnownBlocks::default();
            self.delivery.forget_sacked();
            self.sacked_below = self.front;
        }
        self.pipe = 0;
        self.lost_below = self.front + self.segments.len() as u64;
        self.sacked_above = 0;
        self.runs_above = 0;
        self.restart_resending();
    }

    /// The timeout was not needed: what it took for lost is in the network after all. Walks all that is outstanding.
    pub fn unmark_lost(&mut self) {
        let (mut pipe, mut sacked_above, mut runs_above, mut in_run) = (0, 0, 0, false);
        for sent in &mut self.segments {
            sent.lost = false;
            sent.resent = false;
            pipe += sent.pipe(self.weight);
            sacked_above += if sent.sacked { self.weight.of(sent.sequence_len()) } else { 0 };
            runs_above += u32::from(sent.sacked && !in_run);
            in_run = sent.sacked;
        }
        (self.pipe, self.sacked_above, self.runs_above) = (pipe, sacked_above, runs_above);
        self.lost_below = self.front;
        self.restart_resending();
    }

    /// Moves `lost_below` up by one segment.
    pub(super) fn pass_lost_edge(&mut self) {
        let index = (self.lost_below - self.front) as usize;
        if self.segments[index].sacked {
            self.sacked_above -= self.weight.of(self.segments[index].sequence_len());
            if !self.is_sacked(index + 1) {
                self.runs_above -= 1;
            }
        }
        self.lost_below += 1;
    }
}
