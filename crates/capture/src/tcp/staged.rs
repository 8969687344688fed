//! Values on their way to the distributions of one direction. A packet adds a value to six of them. With many flows each
//! of these would be a cache miss, so values wait here, side by side. Most connections end before the list is full. Then
//! each distribution is allocated once, at its final size.

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Staged(Vec<Waiting>);

/// A value above the bits of its kind.
#[derive(Clone, Copy, Debug)]
struct Waiting(u64);

impl Waiting {
    #[inline]
    fn new(kind: Kind, value: u64) -> Self {
        Self(value.min(u64::MAX >> KIND_BITS) << KIND_BITS | kind as u64)
    }

    #[inline]
    const fn index(self) -> usize {
        self.0 as usize & (KINDS.len() - 1)
    }

    #[inline]
    const fn value(self) -> u64 {
        self.0 >> KIND_BITS
    }
}

impl Staged {
    /// Adds a value. Values of more than 70 years in nanoseconds are cut.
    #[inline]
    pub(crate) fn push(&mut self, kind: Kind, value: u64) {
        if self.0.len() == self.0.capacity() {
            self.grow();
        }
        self.0.push(Waiting::new(kind, value));
    }

    #[cold]
    fn grow(&mut self) {
        self.0.reserve_exact((self.0.len() * 3).max(FEW));
    }

    /// Passes all values on if there are many.
    #[inline]
    pub(crate) fn bound(&mut self, counts: &mut HalfCounts) {
        if self.0.len() > MANY - ROOM {
            self.settle(counts);
        }
    }

    /// Passes all values on.
    #[cold]
    pub(crate) fn settle(&mut self, counts: &mut HalfCounts) {
        // Sorted by kind, each distribution is in the cache once.
        let mut sorted = [0; MANY];
        for part in self.0.chunks(MANY) {
            let mut next = [0; KINDS.len()];
            part.iter().for_each(|waiting| next[waiting.index()] += 1);
            let mut end = 0;
            let starts = next.map(|number| {
                end += number;
                end - number
            });
            next = starts;
            for waiting in part {
                let place = &mut next[waiting.index()];
                sorted[*place] = waiting.value();
                *place += 1;
            }
            for ((kind, from), to) in KINDS.into_iter().zip(starts).zip(next) {
                counts.distribution(kind).extend(sorted[from..to].iter().copied());
            }
        }
        self.0.clear();
        // One ACK of many packets has made it large.
        if self.0.capacity() > 2 * MANY {
            self.0 = Vec::new();
        }
    }
}

#[cfg(test)]
impl Staged {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}

const KIND_BITS: u32 = 3;
/// Kinds by number.
const KINDS: [Kind; 1 << KIND_BITS] = [
    Kind::AckRtt,
    Kind::StampRtt,
    Kind::PacketsInFlight,
    Kind::BytesInFlight,
    Kind::PacketsPerRtt,
    Kind::ApplicationDelay,
    // Numbers of no kind.
    Kind::ApplicationDelay,
    Kind::ApplicationDelay,
];
/// Number of values that may wait: 2 KiB.
const MANY: usize = 256;
/// Number of values that the list begins with. It grows four times at once, to 256.
const FEW: usize = 16;
/// Values of most packets and their ACKs.
const ROOM: usize = 8;
