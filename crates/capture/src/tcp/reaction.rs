//! How long a sender takes from an ACK to the segment that answers it, learned from those that followed one at once: a
//! segment that comes later than that answers something else, if only by microseconds.

/// The usual reaction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reaction {
    /// Moves towards the median.
    typical_ns: u64,
    seen: u32,
}

impl Reaction {
    /// The first data after an ACK came so long after it.
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

    /// No answer takes longer than this at best.
    pub(crate) fn at_once_ns(&self) -> u64 {
        if self.seen < ENOUGH { AT_ONCE_NS } else { (self.typical_ns * 4 + RESOLUTION_NS).min(AT_ONCE_NS) }
    }
}

/// What comes later is no answer.
const LONGEST_NS: u64 = 3_000_000;
/// As long as little is known of the sender.
const AT_ONCE_NS: u64 = 250_000;
const ENOUGH: u32 = 16;
/// Most captures count microseconds.
const RESOLUTION_NS: u64 = 2_000;
