//! Reaction time of a sender: the time from an ACK to the segment that answers it. It is learned from segments that
//! followed an ACK at once. A later segment answers something else, even if it is only microseconds later.

/// The usual reaction time of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reaction {
    /// Estimate of the median, adjusted in small steps.
    typical_ns: u64,
    seen: u32,
}

impl Reaction {
    /// Adds a sample: time from an ACK to the next data.
    pub(crate) const fn saw(&mut self, after_ns: u64) {
        if after_ns > LONGEST_NS {
            return;
        }
        if self.seen == 0 {
            self.typical_ns = after_ns;
        } else if after_ns > self.typical_ns {
            self.typical_ns += self.typical_ns / 8 + 1;
        } else if after_ns < self.typical_ns {
            self.typical_ns -= self.typical_ns / 8 + 1;
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// Maximum time of a direct answer.
    pub(crate) fn at_once_ns(&self) -> u64 {
        if self.seen < ENOUGH { AT_ONCE_NS } else { (self.typical_ns * 4 + RESOLUTION_NS).min(AT_ONCE_NS) }
    }
}

/// Maximum sample; a later segment is not an answer.
const LONGEST_NS: u64 = 3_000_000;
/// Reaction time assumed while few samples are known.
const AT_ONCE_NS: u64 = 250_000;
const ENOUGH: u32 = 16;
/// Resolution of most captures: a few microseconds.
const RESOLUTION_NS: u64 = 2_000;
