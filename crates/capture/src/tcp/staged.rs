//! Values on their way to the distributions of one direction. A packet adds a value to six of them. With many flows each
//! of these would be a cache miss, so values wait here, side by side, until there are enough of them.

use super::counts::HalfCounts;

/// The distribution that a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AckRtt,
    StampRtt,
    PacketsInFlight,
    BytesInFlight,
    PacketsPerRtt,
    ApplicationDelay,
}

/// Waiting values, in order.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    len: u8,
    kinds: [Kind; PLACES],
    values: [u32; PLACES],
}

impl Default for Staged {
    fn default() -> Self {
        Self { len: 0, kinds: [Kind::AckRtt; PLACES], values: [0; PLACES] }
    }
}

impl Staged {
    /// Adds a value.
    #[inline]
    pub(crate) fn push(&mut self, kind: Kind, value: u64, counts: &mut HalfCounts) {
        let Ok(word) = u32::try_from(value) else {
            // The order matters: a distribution that begins to count in buckets has all earlier values.
            self.settle(counts);
            return counts.distribution(kind).push(value);
        };
        let at = usize::from(self.len);
        (self.kinds[at], self.values[at]) = (kind, word);
        self.len += 1;
        if usize::from(self.len) == PLACES {
            self.settle(counts);
        }
    }

    /// Passes all values on.
    #[cold]
    pub(crate) fn settle(&mut self, counts: &mut HalfCounts) {
        let values = self.kinds.iter().zip(&self.values).take(self.len.into());
        for (&kind, &value) in values {
            counts.distribution(kind).push(value.into());
        }
        self.len = 0;
    }
}

const PLACES: usize = 48;
