//! The bytes of one direction that a capture point has seen: all up to the highest one, except for holes. The bytes of
//! a packet are new, or they fill a hole (they were lost or reordered before the capture point), or they are repeated.
//! Payload itself is left out.

/// The bytes seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Offset after the highest byte; 0 before the first packet.
    end: u64,
    /// Ranges below `end` that were not seen, in order.
    holes: Vec<Hole>,
}

/// A range of bytes that was not seen when later bytes were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The packet after the hole, which showed it.
    pub(crate) revealed: Revealed,
}

/// The packet that showed a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revealed {
    pub(crate) at_ns: u64,
    pub(crate) identification: u16,
    pub(crate) stamp: Option<u32>,
}

/// Bytes of a packet by kind: new, filling a hole, or repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    /// Bytes above all bytes seen before.
    pub(crate) new: u32,
    /// Bytes that fill a hole.
    pub(crate) filled: u32,
    /// Bytes seen before.
    pub(crate) repeated: u32,
    /// The packet that showed the first hole filled.
    pub(crate) hole: Option<Revealed>,
}

impl Stream {
    /// Offset after the highest byte seen.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Adds `len` bytes from `start` on; `len` must not be 0.
    pub(crate) fn saw(&mut self, start: u64, len: u32, packet: Revealed) -> Brought {
        let end = start + u64::from(len);
        if self.end == 0 {
            self.end = end;
            return Brought { new: len, ..Brought::default() };
        }
        if start >= self.end {
            if start > self.end && self.holes.len() < MAX_HOLES {
                self.holes.push(Hole { start: self.end, end: start, revealed: packet });
            }
            self.end = end;
            return Brought { new: len, ..Brought::default() };
        }
        let new = end.saturating_sub(self.end) as u32;
        let (filled, hole) = if self.holes.is_empty() { (0, None) } else { self.fill(start, end) };
        self.end = self.end.max(end);
        Brought { new, filled, repeated: len - new - filled, hole }
    }

    /// Handles a packet without data at offset `to`: all bytes below were sent.
    pub(crate) fn reached(&mut self, to: u64, packet: Revealed) {
        if self.end > 0 && to > self.end && self.holes.len() < MAX_HOLES {
            self.holes.push(Hole { start: self.end, end: to, revealed: packet });
        }
        self.end = self.end.max(to);
    }

    fn fill(&mut self, start: u64, end: u64) -> (u32, Option<Revealed>) {
        let mut filled = 0;
        let mut first = None;
        let mut at = 0;
        while let Some(&hole) = self.holes.get(at) {
            let (from, to) = (hole.start.max(start), hole.end.min(end));
            if from >= to {
                at += 1;
                continue;
            }
            filled += to - from;
            first.get_or_insert(hole.revealed);
            self.holes.remove(at);
            for rest in [Hole { end: from, ..hole }, Hole { start: to, ..hole }] {
                if rest.start < rest.end {
                    self.holes.insert(at, rest);
                    at += 1;
                }
            }
        }
        (filled as u32, first)
    }

    /// Number of unseen bytes directly before `start`.
    #[inline]
    pub(crate) fn missing_before(&self, start: u64) -> u64 {
        self.holes.iter().rev().find(|hole| hole.end == start).map_or(0, |hole| hole.end - hole.start)
    }

    /// Number of unseen bytes below the highest one.
    pub(crate) fn missing(&self) -> u64 {
        self.holes.iter().map(|hole| hole.end - hole.start).sum()
    }
}

/// Maximum number of holes. Bytes of further holes count as repeated when they arrive.
const MAX_HOLES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_new_then_filled_then_repeated() {
        let mut stream = Stream::default();
        let at = |at_ns| Revealed { at_ns, ..Revealed::default() };
        assert_eq!(stream.saw(1, 10, at(0)), Brought { new: 10, ..Brought::default() });
        assert_eq!(stream.saw(21, 10, at(1)), Brought { new: 10, ..Brought::default() });
        assert_eq!((stream.missing(), stream.missing_before(21), stream.missing_before(31)), (10, 10, 0));
        // Five bytes of the hole and five that were known; then five more of the hole, ten repeated and two new.
        let brought = stream.saw(6, 10, at(2));
        assert_eq!(brought, Brought { new: 0, filled: 5, repeated: 5, hole: Some(at(1)) });
        let brought = stream.saw(16, 17, at(3));
        assert_eq!(brought, Brought { new: 2, filled: 5, repeated: 10, hole: Some(at(1)) });
        assert_eq!((stream.end(), stream.missing()), (33, 0));
    }

    proptest! {
        #[test]
        fn every_byte_is_counted_once_as_what_it_is(packets in proptest::collection::vec((1u64..200, 1u32..40), 1..60)) {
            let mut stream = Stream::default();
            let mut seen = [false; 300];
            let mut end = 0;
            let mut first = 0;
            for (start, len) in packets {
                let range = start as usize..start as usize + len as usize;
                if end == 0 { first = range.start; end = range.start; }
                let mut expected = (0, 0, 0);
                for byte in range.clone() {
                    if byte >= end { expected.0 += 1 } else if seen[byte] || byte < first { expected.2 += 1 } else { expected.1 += 1 }
                }
                let brought = stream.saw(start, len, Revealed::default());
                prop_assert_eq!((brought.new, brought.filled, brought.repeated), expected);
                seen[range.clone()].fill(true);
                end = end.max(range.end);
            }
            prop_assert_eq!(stream.missing() as usize, (first..end).filter(|&byte| !seen[byte]).count());
        }
    }
}
