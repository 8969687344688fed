//! A closed range of values.

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// Smallest value.
    pub low: T,
    /// Largest value.
    pub high: T,
}

impl<T: PartialOrd + Copy> Span<T> {
    /// From `low` to `high`.
    pub const fn new(low: T, high: T) -> Self {
        Self { low, high }
    }

    /// One value.
    pub const fn only(value: T) -> Self {
        Self { low: value, high: value }
    }

    /// Is `value` in it?
    pub fn contains(&self, value: T) -> bool {
        self.low <= value && value <= self.high
    }

    /// Is all of `other` in it?
    pub fn covers(&self, other: &Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// Have they a value in common?
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Is there no value in it?
    pub fn is_empty(&self) -> bool {
        self.high < self.low
    }
}
