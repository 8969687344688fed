//! Message numbers. Many games over UDP put a counter into the first bytes of each message (Quake III a 32-bit sequence
//! number; RTP 16 bits at offset 2). After some packets the right form is clear: it goes up by one from packet to
//! packet. With it, a single capture shows which messages were lost, duplicated or reordered before the capture point.

/// The possible counters at the start of the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    candidates: [Counter; FORMS],
    packets: u64,
}

/// Losses, duplicates and reordering according to the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Messages between the first and the last one that did not arrive.
    pub missing: u64,
    /// Messages that arrived again.
    pub duplicated: u64,
    /// Messages that arrived after a later one.
    pub reordered: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    last: u32,
    /// Highest number so far, unwrapped.
    high: u64,
    /// Bit map of the 64 numbers up to `high` that arrived.
    came: u64,
    steps_of_one: u64,
    distinct: u64,
    duplicated: u64,
    reordered: u64,
    /// Number of large steps: another stream, or no counter at all.
    jumps: u64,
    first: u64,
}

/// Forms of a counter: 32 bits in either byte order, 16 bits in either byte order at either place.
const FORMS: usize = 6;

fn read(form: usize, start: [u8; 4]) -> (u32, u32) {
    let [a, b, c, d] = start;
    match form {
        0 => (u32::from_le_bytes(start), u32::MAX),
        1 => (u32::from_be_bytes(start), u32::MAX),
        2 => (u16::from_le_bytes([a, b]).into(), u16::MAX.into()),
        3 => (u16::from_be_bytes([a, b]).into(), u16::MAX.into()),
        4 => (u16::from_le_bytes([c, d]).into(), u16::MAX.into()),
        _ => (u16::from_be_bytes([c, d]).into(), u16::MAX.into()),
    }
}

impl Numbering {
    /// Adds a message with these first bytes.
    pub(crate) fn saw(&mut self, start: [u8; 4]) {
        self.packets += 1;
        for (form, counter) in self.candidates.iter_mut().enumerate() {
            let (value, mask) = read(form, start);
            counter.saw(value, mask, self.packets == 1);
        }
    }

    /// Returns the results of the best counter; `None` if no form counts.
    pub(crate) fn numbered(&self) -> Option<Numbered> {
        let best = self.candidates.iter().max_by_key(|counter| counter.steps_of_one)?;
        let trusted = self.packets >= MIN_PACKETS
            && best.steps_of_one * 5 >= self.packets * 4
            && best.jumps * 100 <= self.packets;
        trusted.then(|| Numbered {
            missing: (best.high - best.first + 1).saturating_sub(best.distinct),
            duplicated: best.duplicated,
            reordered: best.reordered,
        })
    }
}

impl Counter {
    fn saw(&mut self, value: u32, mask: u32, is_first: bool) {
        if is_first {
            *self =
                Self { last: value, high: 1 << 33, first: 1 << 33, came: 1, distinct: 1, ..Self::default() };
            return;
        }
        let distance = value.wrapping_sub(self.last) & mask;
        // Steps in the upper half of the range go backwards.
        let ahead = distance <= mask / 2;
        let back = u64::from(mask.wrapping_sub(distance).wrapping_add(1) & mask);
        match (ahead, u64::from(distance), back) {
            (true, 0, _) => self.duplicated += 1,
            (true, step, _) if step < FAR => {
                self.steps_of_one += u64::from(step == 1);
                self.came = if step < 64 { self.came << step | 1 } else { 1 };
                (self.high, self.last) = (self.high + step, value);
                self.distinct += 1;
            }
            (false, _, back) if back < 64 => {
                if self.came >> back & 1 == 1 {
                    self.duplicated += 1;
                } else if self.high - back >= self.first {
                    self.came |= 1 << back;
                    self.reordered += 1;
                    self.distinct += 1;
                }
            }
            _ => {
                // Start again: the numbers skipped are no losses.
                self.jumps += 1;
                self.last = value;
                self.came = 1;
                self.high += 1;
                self.distinct += 1;
            }
        }
    }
}

/// Maximum step that counts as loss. A larger one means another counter.
const FAR: u64 = 10_000;
const MIN_PACKETS: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_wherever_it_stands_and_across_its_wrap() {
        let forms: [fn(u32) -> [u8; 4]; 3] = [
            |n| n.wrapping_add(u32::MAX - 20).to_le_bytes(),
            |n| [0x80, 96, (n.wrapping_add(65_520) >> 8) as u8, n.wrapping_add(65_520) as u8],
            |n| (n << 16 | 0xabcd).to_be_bytes(),
        ];
        for form in forms {
            let mut numbering = Numbering::default();
            // 30 to 32 are lost, 40 arrives twice, 50 after 51.
            for n in (0..30).chain(33..41).chain(40..50).chain([51, 50]).chain(52..200) {
                numbering.saw(form(n));
            }
            assert_eq!(numbering.numbered(), Some(Numbered { missing: 3, duplicated: 1, reordered: 1 }));
        }
    }

    #[test]
    fn what_does_not_count_is_not_numbered() {
        let mut numbering = Numbering::default();
        for n in 0u32..1000 {
            numbering.saw(n.wrapping_mul(2_654_435_761).to_le_bytes());
        }
        assert_eq!(numbering.numbered(), None);
    }
}
