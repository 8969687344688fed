//! Message numbers. Many games over UDP put a counter into the first bytes of each message (Quake III a 32-bit sequence
//! number; RTP 16 bits at offset 2). After some packets the right form is clear: it goes up by one from packet to
//! packet. With it, a single capture shows which messages were lost, duplicated or reordered before the capture point.
//!
//! The Quake family has packets that no number can be read from (ioquake3 `code/qcommon/net_chan.c`, Quake
//! `QW/client/net_chan.c`, Xash3D `engine/common/net_chan.c`):
//!
//! - A number of -1 marks a message out of band, for example a status query. Source also splits large packets under -2.
//! - The highest two bits are flags. Bit 31 marks a fragment in Quake III, and reliable data in QuakeWorld, Quake II and
//!   GoldSrc; GoldSrc sets bit 30, too. All fragments of a Quake III message have the number of the message.
//!
//! So the same number twice with a flag may be two fragments, and is not counted as a duplicate.

/// The possible counters at the start of the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    counters: [Counter; FORMS],
    messages: u64,
    /// Index of the counter that is trusted so far.
    trusted: Option<usize>,
}

/// Losses, duplicates and reordering according to the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Messages that arrived, each counted once.
    pub arrived: u64,
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
    /// Highest number so far, unwrapped; 0 before the first one.
    high: u64,
    /// Bit map of the 64 numbers up to `high` that arrived.
    came: u64,
    steps_of_one: u64,
    distinct: u64,
    duplicated: u64,
    reordered: u64,
    /// Number of large steps: another stream, or no counter at all.
    jumps: u64,
}

/// A message's place in the order of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The first message, or one that is this much above the highest before it.
    Ahead(u64),
    /// A number below the highest, or a duplicate.
    Behind,
    /// The number of an earlier message, with a flag: possibly another fragment of it.
    Fragment,
}

/// A number as one form reads it.
struct Number {
    value: u32,
    /// Highest number of the form.
    mask: u32,
    flagged: bool,
}

/// Forms of a counter: 32 bits in either byte order, 16 bits in either byte order at either place. In the second form
/// the highest two bits are flags. If two forms count alike, the first one is used.
const FORMS: usize = 7;

fn read(form: usize, start: [u8; 4]) -> Number {
    let [a, b, c, d] = start;
    let whole = |value: u32| Number { value, mask: u32::MAX, flagged: false };
    let half = |value: u16| Number { value: value.into(), mask: u16::MAX.into(), flagged: false };
    match form {
        0 => whole(u32::from_le_bytes(start)),
        1 => {
            let value = u32::from_le_bytes(start);
            Number { value: value & !FLAGS, mask: !FLAGS, flagged: value & FLAGS != 0 }
        }
        2 => whole(u32::from_be_bytes(start)),
        3 => half(u16::from_le_bytes([a, b])),
        4 => half(u16::from_be_bytes([a, b])),
        5 => half(u16::from_le_bytes([c, d])),
        _ => half(u16::from_be_bytes([c, d])),
    }
}

impl Numbering {
    /// Adds a message with these first bytes. Returns the number of messages sent since the highest number before it, as
    /// far as that is known: 1 without a counter. Returns `None` if the message is out of band, a further fragment, a
    /// duplicate or late: such a message has no time of its own in the sender's pace.
    pub(crate) fn saw(&mut self, start: [u8; 4]) -> Option<u64> {
        if is_out_of_band(start) && !self.continues(start) {
            return None;
        }
        self.messages += 1;
        let orders: [Order; FORMS] = std::array::from_fn(|form| self.counters[form].saw(&read(form, start)));
        if self.messages.is_multiple_of(LOOK) {
            self.trusted = (0..FORMS).rev().max_by_key(|&form| self.counters[form].steps_of_one);
            self.trusted = self.trusted.filter(|&form| self.counters[form].is_trusted());
        }
        match self.trusted.map(|form| orders[form]) {
            None => Some(1),
            Some(Order::Ahead(step)) => Some(step),
            Some(Order::Behind | Order::Fragment) => None,
        }
    }

    /// True if the message would be the next one of a counter.
    fn continues(&self, start: [u8; 4]) -> bool {
        self.counters.iter().enumerate().any(|(form, counter)| {
            let number = read(form, start);
            counter.high > 0 && number.value.wrapping_sub(counter.last) & number.mask == 1
        })
    }

    /// Returns the results of the best counter; `None` if no form counts.
    pub(crate) fn numbered(&self) -> Option<Numbered> {
        let best = self.counters.iter().rev().max_by_key(|counter| counter.steps_of_one)?;
        best.is_trusted().then(|| Numbered {
            arrived: best.distinct,
            missing: (best.high - START + 1).saturating_sub(best.distinct),
            duplicated: best.duplicated,
            reordered: best.reordered,
        })
    }
}

/// True if a message is marked as out of band, or as a part of a split packet of Source.
const fn is_out_of_band(start: [u8; 4]) -> bool {
    matches!(i32::from_le_bytes(start), -1 | -2)
}

impl Counter {
    /// True if most messages are one after the one before. Duplicates, and numbers that jump, speak against a counter.
    const fn is_trusted(&self) -> bool {
        let messages = self.distinct + self.duplicated;
        messages >= MIN_MESSAGES && self.steps_of_one * 5 >= messages * 4 && self.jumps * 100 <= messages
    }

    fn saw(&mut self, number: &Number) -> Order {
        let &Number { value, mask, flagged } = number;
        if self.high == 0 {
            *self = Self { last: value, high: START, came: 1, distinct: 1, ..Self::default() };
            return Order::Ahead(1);
        }
        let distance = value.wrapping_sub(self.last) & mask;
        // Steps in the upper half of the range go backwards.
        let ahead = distance <= mask / 2;
        let step = u64::from(distance);
        let back = u64::from(mask.wrapping_sub(distance).wrapping_add(1) & mask);
        if ahead && step > 0 && step < FAR {
            self.steps_of_one += u64::from(step == 1);
            self.came = if step < 64 { self.came << step | 1 } else { 1 };
            (self.high, self.last) = (self.high + step, value);
            self.distinct += 1;
            Order::Ahead(step)
        } else if (distance == 0 || !ahead) && back < 64 {
            if self.came >> back & 1 == 1 {
                self.duplicated += u64::from(!flagged);
                return if flagged { Order::Fragment } else { Order::Behind };
            }
            if self.high - back >= START {
                self.came |= 1 << back;
                self.reordered += 1;
                self.distinct += 1;
            }
            Order::Behind
        } else {
            // Start again: the numbers skipped are no losses.
            self.jumps += 1;
            self.last = value;
            self.came = 1;
            self.high += 1;
            self.distinct += 1;
            Order::Ahead(1)
        }
    }
}

/// Flags in the numbers of the Quake family.
const FLAGS: u32 = 0b11 << 30;
/// Unwrapped number of the first message. Numbers below it are possible.
const START: u64 = 1 << 33;
/// Maximum step that counts as loss. A larger one means another counter.
const FAR: u64 = 10_000;
const MIN_MESSAGES: u64 = 20;
/// Number of messages after which the counters are compared again.
const LOOK: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(messages: impl IntoIterator<Item = [u8; 4]>) -> Option<Numbered> {
        let mut numbering = Numbering::default();
        for message in messages {
            numbering.saw(message);
        }
        numbering.numbered()
    }

    /// The form of Quake III, and of the others with little-endian numbers.
    fn quake(number: u32) -> [u8; 4] {
        number.to_le_bytes()
    }

    const OUT_OF_BAND: u32 = u32::MAX;
    const SPLIT: u32 = u32::MAX - 1;
    const FLAG: u32 = 1 << 31;

    #[test]
    fn a_counter_is_found_wherever_it_stands_and_across_its_wrap() {
        let forms: [fn(u32) -> [u8; 4]; 4] = [
            |n| n.wrapping_add(u32::MAX - 20).to_le_bytes(),
            |n| n.wrapping_add((1 << 30) - 70).to_le_bytes(),
            |n| [0x80, 96, (n.wrapping_add(65_520) >> 8) as u8, n.wrapping_add(65_520) as u8],
            |n| (n << 16 | 0xabcd).to_be_bytes(),
        ];
        for form in forms {
            // 30 to 32 are lost, 40 arrives twice, 50 after 51.
            let came = (0..30).chain(33..41).chain(40..50).chain([51, 50]).chain(52..200);
            let expected = Numbered { arrived: 197, missing: 3, duplicated: 1, reordered: 1 };
            assert_eq!(numbered(came.map(form)), Some(expected));
        }
    }

    #[test]
    fn what_does_not_count_is_not_numbered() {
        assert_eq!(numbered((0u32..1000).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())), None);
        assert_eq!(numbered((0..1000).map(|_| quake(FLAG | 5))), None);
    }

    #[test]
    fn out_of_band_messages_have_no_number() {
        for marker in [OUT_OF_BAND, SPLIT] {
            let mut numbering = Numbering::default();
            for n in 0..300u32 {
                // As in a real match: a challenge before it, then a status query or a split packet now and then.
                if n.is_multiple_of(7) {
                    assert_eq!(numbering.saw(quake(marker)), None);
                    assert_eq!(numbering.saw(quake(marker)), None);
                }
                assert_eq!(numbering.saw(quake(1 + n)), Some(1));
            }
            let expected = Numbered { arrived: 300, missing: 0, duplicated: 0, reordered: 0 };
            assert_eq!(numbering.numbered(), Some(expected));
        }
    }

    #[test]
    fn fragments_of_a_message_are_one_message() {
        // The game state at the start has five fragments, and later messages sometimes have three. 150 is lost.
        let match_of = |n: u32| match n {
            1 => vec![FLAG | 1; 5],
            150 => vec![],
            n if n.is_multiple_of(20) => vec![FLAG | n; 3],
            n => vec![n],
        };
        let expected = Numbered { arrived: 299, missing: 1, duplicated: 0, reordered: 0 };
        assert_eq!(numbered((1..=300).flat_map(match_of).map(quake)), Some(expected));
        let mut numbering = Numbering::default();
        (1..100).for_each(|n| _ = numbering.saw(quake(n)));
        let steps = [FLAG | 100, FLAG | 100, 101, 104, 103].map(|n| numbering.saw(quake(n)));
        assert_eq!(steps, [Some(1), None, Some(1), Some(3), None]);
    }

    #[test]
    fn flags_of_reliable_data_are_not_in_the_number() {
        // QuakeWorld flags every third message, GoldSrc also sets bit 30. 40 to 44 are lost, 60 arrives twice.
        let flags = |n: u32| {
            if n.is_multiple_of(3) {
                FLAG
            } else if n.is_multiple_of(7) {
                FLAG | FLAG >> 1
            } else {
                0
            }
        };
        let came = (1..40).chain(45..61).chain(60..=400).map(|n| if n == 60 { n } else { n | flags(n) });
        let expected = Numbered { arrived: 395, missing: 5, duplicated: 1, reordered: 0 };
        assert_eq!(numbered(came.map(quake)), Some(expected));
    }
}
