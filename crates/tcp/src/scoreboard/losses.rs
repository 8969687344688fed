//! Marks segments as lost by one of three rules: data received above them (RFC 6675 section 4, `IsLost`), their
//! distance to the highest SACKed segment (FACK), or a timeout. Undoes the marks after a spurious timeout. Loss
//! detection by time is in `delivery`.

use super::{DUPLICATE_THRESHOLD, Scoreboard};
use gamelane_core::ByteCount;

impl Scoreboard {
    /// Marks segments as lost by `IsLost` of RFC 6675: more than two MSS, or three runs of segments, are SACKed above.
    pub fn detect_losses(&mut self, mss: ByteCount) {
        let enough = u64::from(DUPLICATE_THRESHOLD - 1) * mss.bytes();
        while self.sacked_above > enough || self.runs_above >= DUPLICATE_THRESHOLD {
            self.lose_next();
        }
    }

    /// Marks segments as lost that are more than `segments` segments below the end of the highest SACKed one (FACK).
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

    /// Marks one segment as lost.
    pub fn mark_lost(&mut self, index: usize) {
        let sent = &mut self.segments[index];
        self.pipe -= sent.pipe(self.weight);
        self.lost_count += u64::from(!sent.lost);
        sent.lost = true;
        self.pipe += sent.pipe(self.weight);
    }

    /// Marks all segments that are not SACKed as lost, after a timeout. If even the oldest one is SACKed, the receiver
    /// has reneged (RFC 2018 section 8); then all SACKs are forgotten.
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

    /// Number of retransmissions on the way (Linux `retrans_out`). Walks over all outstanding segments.
    pub fn resent_in_flight(&self) -> u32 {
        self.segments.iter().filter(|sent| sent.resent && !sent.sacked).count() as u32
    }

    /// Undoes the loss marks after a spurious timeout. Walks over all outstanding segments.
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
