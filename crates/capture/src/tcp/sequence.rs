//! Converts sequence numbers to 64-bit stream offsets, as in [`gamelane_tcp::Segment`]: the SYN at 0, data from 1. If a
//! capture begins within a connection, the first number seen becomes offset 1.

/// Sequence numbers of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    origin: u32,
    /// Highest offset so far; other offsets are close to it.
    high: u64,
}

impl Sequence {
    /// For a direction whose SYN has this number.
    pub(crate) const fn after_syn(number: u32) -> Self {
        Self { origin: number, high: 0 }
    }

    /// For a direction whose SYN is not in the capture; `number` becomes offset 1.
    pub(crate) const fn from_within(number: u32) -> Self {
        Self { origin: number.wrapping_sub(1), high: 1 }
    }

    /// Sequence number of offset 0.
    pub(crate) const fn origin(&self) -> u32 {
        self.origin
    }

    /// Returns the offset of `number`; `None` if it is before offset 0.
    #[inline]
    pub(crate) fn offset(&self, number: u32) -> Option<u64> {
        let distance = number.wrapping_sub(self.origin).wrapping_sub(self.high as u32) as i32;
        self.high.checked_add_signed(i64::from(distance))
    }

    /// Like [`Sequence::offset`], for a number that the sender used. The following numbers are expected close to it.
    #[inline]
    pub(crate) fn sent(&mut self, number: u32) -> Option<u64> {
        let offset = self.offset(number)?;
        self.high = self.high.max(offset);
        Some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_where_numbers_wrap() {
        let mut sequence = Sequence::after_syn(u32::MAX - 10);
        assert_eq!(sequence.sent(u32::MAX - 10), Some(0));
        assert_eq!(sequence.sent(u32::MAX - 9), Some(1));
        assert_eq!(sequence.sent(5), Some(16));
        assert_eq!(sequence.sent(u32::MAX), Some(10));
        for step in 1..=10u64 {
            let offset = step << 30;
            assert_eq!(sequence.sent((u32::MAX - 10).wrapping_add(offset as u32)), Some(offset));
        }
        assert_eq!(sequence.offset(u32::MAX - 11), Some((10 << 30) - 1 + (2 << 30)));
    }

    #[test]
    fn what_came_before_the_capture_has_no_offset() {
        let sequence = Sequence::from_within(1000);
        assert_eq!(sequence.offset(1000), Some(1));
        assert_eq!(sequence.offset(999), Some(0));
        assert_eq!(sequence.offset(998), None);
    }
}
