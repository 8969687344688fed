//! A closed range of values, used for ports, lengths and rates in classifier rules.

/// The range from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// Smallest value.
    pub low: T,
    /// Largest value.
    pub high: T,
}

impl<T: PartialOrd + Copy> Span<T> {
    /// Makes the range from `low` to `high`.
    pub const fn new(low: T, high: T) -> Self {
        Self { low, high }
    }

    /// Makes the range that contains one value.
    pub const fn only(value: T) -> Self {
        Self { low: value, high: value }
    }

    /// Returns whether `value` is in the range.
    pub fn contains(&self, value: T) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns whether all values of `other` are in the range.
    pub fn covers(&self, other: &Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// Returns whether the two ranges have a value in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Returns whether the range contains no value.
    pub fn is_empty(&self) -> bool {
        self.high < self.low
    }
}
