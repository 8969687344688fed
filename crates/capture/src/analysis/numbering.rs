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
//!
//! Other packets of the flow may have something else in the place of the number. RTP shares its flow with RTCP and STUN,
//! which have a length there (RFC 5761, RFC 8489). So a number far from the last one counts only if the next message is
//! near it, too. The numbers between are lost only if the time since the last message could hold them. Otherwise the
//! sender started another counter, and the numbers skipped are no losses.

/// The possible counters at the start of the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    /// `None` before the second message: most conversations are a question and its answer.
    counters: Option<Box<[Counter; FORMS]>>,
    /// The first message.
    first: Option<(u64, [u8; 4])>,
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

/// For each form, the number of messages sent since the highest number before a message. 0 if the message is a further
/// fragment, a duplicate, late, or none of the counter: such a message has no time of its own in the sender's pace.
pub(crate) type Steps = [u16; FORMS];

/// Steps of a message without a number.
pub(crate) const UNNUMBERED: Steps = [1; FORMS];

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    last: u32,
    /// Kind of the packet with the number `last`.
    kind: u8,
    /// Number of messages in a row that were not of the counter.
    strays: u8,
    at_ns: u64,
    /// Usual time between two messages.
    usual_ns: u64,
    candidate: Option<Candidate>,
    /// Highest number so far, unwrapped; 0 before the first one.
    high: u64,
    /// Bit map of the 64 numbers up to `high` that arrived.
    came: u64,
    steps_of_one: u64,
    distinct: u64,
    duplicated: u64,
    reordered: u64,
    /// Number of messages that are not of the counter.
    others: u64,
    /// Number of times that the counter started again elsewhere.
    jumps: u64,
}

/// A message whose number is far from the last one.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    value: u32,
    kind: u8,
    /// Step from the last number if the time could hold it, otherwise 0.
    step: u16,
    at_ns: u64,
}

/// A number as one form reads it.
struct Number {
    value: u32,
    /// Highest number of the form.
    mask: u32,
    flagged: bool,
    /// Kind of the packet. In the place of RTP's number, RTP, RTCP and STUN have different kinds.
    kind: u8,
}

/// Forms of a counter: 32 bits in either byte order, 16 bits in either byte order at either place. In the second form
/// the highest two bits are flags. If two forms count alike, the first one is used: RTP's is before the one with 32 bits,
/// which RTP's wrap would stop.
const FORMS: usize = 7;

fn read(form: usize, start: [u8; 4]) -> Number {
    let [a, b, c, d] = start;
    let whole = |value: u32| Number { value, mask: u32::MAX, flagged: false, kind: 0 };
    let half = |value: u16, kind| Number { value: value.into(), mask: u16::MAX.into(), flagged: false, kind };
    match form {
        0 => whole(u32::from_le_bytes(start)),
        1 => {
            let value = u32::from_le_bytes(start);
            Number { value: value & !FLAGS, mask: !FLAGS, flagged: value & FLAGS != 0, kind: 0 }
        }
        2 => half(u16::from_be_bytes([c, d]), kind(a, b)),
        3 => half(u16::from_le_bytes([a, b]), 0),
        4 => half(u16::from_be_bytes([a, b]), 0),
        5 => half(u16::from_le_bytes([c, d]), kind(a, b)),
        _ => whole(u32::from_be_bytes(start)),
    }
}

/// Kind of a packet by its first two bytes: [`RTCP`] (RFC 5761 section 4), otherwise the highest two bits. These are RTP's
/// version 2, or 0 for STUN.
const fn kind(a: u8, b: u8) -> u8 {
    match a >> 6 {
        2 if b >= 192 && b <= 223 => RTCP,
        version => version,
    }
}

impl Numbering {
    /// Adds a message that passed at `at_ns` with these first bytes. Returns `None` if it is out of band.
    pub(crate) fn saw(&mut self, at_ns: u64, start: [u8; 4]) -> Option<Steps> {
        if is_out_of_band(start) && !self.continues(start) {
            return None;
        }
        self.messages += 1;
        let Some((first_ns, first)) = self.first else {
            self.first = Some((at_ns, start));
            return Some(UNNUMBERED);
        };
        let counters = self.counters.get_or_insert_with(|| {
            Box::new(std::array::from_fn(|form| Counter::first(first_ns, &read(form, first))))
        });
        let steps = std::array::from_fn(|form| counters[form].saw(at_ns, &read(form, start)));
        if self.messages.is_multiple_of(LOOK) {
            self.trusted = self.best();
        }
        Some(steps)
    }

    /// Returns the form of the counter that was trusted at the last comparison.
    pub(crate) const fn trusted(&self) -> Option<usize> {
        self.trusted
    }

    /// Returns the form that counts best; `None` if no form counts.
    pub(crate) fn best(&self) -> Option<usize> {
        let counters = self.counters.as_ref()?;
        let best = (0..FORMS).rev().max_by_key(|&form| counters[form].steps_of_one);
        best.filter(|&form| counters[form].is_trusted())
    }

    /// True if the messages count as those of the Quake family do: 32 bits, the lowest byte first.
    pub(crate) fn is_quake(&self) -> bool {
        self.best().is_some_and(|form| form < 2)
    }

    /// True if the message would be the next one of a counter.
    fn continues(&self, start: [u8; 4]) -> bool {
        self.counters.iter().flat_map(|counters| counters.iter().enumerate()).any(|(form, counter)| {
            let number = read(form, start);
            counter.high > 0 && number.value.wrapping_sub(counter.last) & number.mask == 1
        })
    }

    /// Returns the results of the best counter; `None` if no form counts.
    pub(crate) fn numbered(&self) -> Option<Numbered> {
        let best = &self.counters.as_ref()?[self.best()?];
        Some(Numbered {
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
    /// True if most messages are one after the one before. Duplicates, other messages, and numbers that jump, speak
    /// against a counter.
    const fn is_trusted(&self) -> bool {
        let messages = self.distinct + self.duplicated + self.others;
        messages >= MIN_MESSAGES && self.steps_of_one * 5 >= messages * 4 && self.jumps * 100 <= messages
    }

    /// The counter after its first message.
    fn first(at_ns: u64, &Number { value, kind, .. }: &Number) -> Self {
        Self { last: value, kind, at_ns, high: START, came: 1, distinct: 1, ..Self::default() }
    }

    /// Adds a message. Returns its entry in [`Steps`].
    fn saw(&mut self, at_ns: u64, number: &Number) -> u16 {
        let &Number { value, mask, flagged, kind } = number;
        if self.high == 0 {
            *self = Self::first(at_ns, number);
            return 1;
        }
        let ahead = |of: u32| value.wrapping_sub(of) & mask;
        let behind = |of: u32| of.wrapping_sub(value) & mask;
        let mut untold = 0;
        if let Some(candidate) = self.candidate
            && ahead(self.last) != 1
            && value != candidate.value
            && ahead(candidate.value).min(behind(candidate.value)) < NEAR
        {
            untold = self.accept(candidate);
        }
        let step = ahead(self.last);
        let back = behind(self.last);
        if step == 1 || (2..NEAR).contains(&step) && kind == self.kind {
            if step == 1 {
                self.took(at_ns.saturating_sub(self.at_ns));
            }
            self.came = self.came << step | 1;
            self.high += u64::from(step);
            self.distinct += 1;
            (self.last, self.kind, self.at_ns) = (value, kind, at_ns);
            (self.strays, self.candidate) = (0, None);
            untold + step as u16
        } else if back < NEAR && kind == self.kind {
            if self.came >> back & 1 == 1 {
                self.duplicated += u64::from(!flagged);
            } else if self.high - u64::from(back) >= START {
                self.came |= 1 << back;
                self.reordered += 1;
                self.distinct += 1;
            }
            0
        } else if flagged && self.candidate.is_some_and(|candidate| candidate.value == value) {
            0
        } else {
            self.others += 1;
            self.strays = self.strays.saturating_add(1);
            let single = u16::from(self.strays > STRAYS);
            if kind == RTCP && self.kind != RTCP {
                return single;
            }
            let could_be_ns = at_ns.saturating_sub(self.at_ns).saturating_mul(2);
            let could_hold =
                (1..FAR).contains(&step) && self.usual_ns.saturating_mul(step.into()) <= could_be_ns;
            let step = if could_hold { step as u16 } else { 0 };
            self.candidate = Some(Candidate { value, kind, step, at_ns });
            step.max(single)
        }
    }

    /// Takes a candidate as a message of the counter. Returns the messages that were not in its entry of [`Steps`].
    fn accept(&mut self, candidate: Candidate) -> u16 {
        let Candidate { value, kind, step, at_ns } = candidate;
        self.others -= 1;
        if self.steps_of_one == 0 {
            // What came before did not count.
            let others = self.others + self.distinct + self.duplicated;
            *self = Self { high: START, came: 1, distinct: 1, others, ..Self::default() };
        } else {
            self.distinct += 1;
            self.jumps += u64::from(step == 0);
            self.high += u64::from(step.max(1));
            self.came = if (1..NEAR as u16).contains(&step) { self.came << step | 1 } else { 1 };
        }
        (self.last, self.kind, self.at_ns) = (value, kind, at_ns);
        (self.strays, self.candidate) = (0, None);
        u16::from(step == 0)
    }

    /// Learns the usual time from the time that a step of one took. A pause is hardly in it.
    fn took(&mut self, ns: u64) {
        let most = self.usual_ns.saturating_mul(4).saturating_add(1_000_000);
        self.usual_ns =
            if self.steps_of_one == 0 { ns } else { self.usual_ns - self.usual_ns / 16 + ns.min(most) / 16 };
        self.steps_of_one += 1;
    }
}

/// Flags in the numbers of the Quake family.
const FLAGS: u32 = 0b11 << 30;
/// Kind of RTCP packets. Other kinds are below.
const RTCP: u8 = 4;
/// Unwrapped number of the first message. Numbers below it are possible.
const START: u64 = 1 << 33;
/// Steps below this one are taken at once, without a look at the time: a queue or Wi-Fi delivers several messages at a
/// time, and one of them may be lost.
const NEAR: u32 = 64;
/// Maximum step that counts as loss. A larger one means another counter.
const FAR: u32 = 10_000;
/// After this number of messages in a row that are not of the counter, the sender has probably stopped counting. They
/// then have a time of their own.
const STRAYS: u8 = 3;
const MIN_MESSAGES: u64 = 20;
/// Number of messages after which the counters are compared again.
const LOOK: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(messages: impl IntoIterator<Item = [u8; 4]>) -> Option<Numbered> {
        let mut numbering = Numbering::default();
        for (at, message) in (0..).zip(messages) {
            numbering.saw(at * TICK_NS, message);
        }
        numbering.numbered()
    }

    const TICK_NS: u64 = 20_000_000;

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
                    assert_eq!(numbering.saw(u64::from(n) * TICK_NS, quake(marker)), None);
                    assert_eq!(numbering.saw(u64::from(n) * TICK_NS, quake(marker)), None);
                }
                let steps = numbering.saw(u64::from(n) * TICK_NS, quake(1 + n));
                assert_eq!(steps.map(|steps| steps[0]), Some(1));
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
        let number = |n| if n == 50 { FLAG | n } else { n };
        (1..100).for_each(|n| _ = numbering.saw(u64::from(n) * TICK_NS, quake(number(n))));
        assert_eq!(numbering.trusted(), Some(1));
        let steps = [FLAG | 100, FLAG | 100, 101, 104, 103].map(|n| numbering.saw(100 * TICK_NS, quake(n)));
        assert_eq!(steps.map(|steps| steps.map(|steps| steps[1])), [1, 0, 1, 3, 0].map(Some));
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

    fn rtp(number: u16) -> [u8; 4] {
        let [high, low] = number.to_be_bytes();
        [0x80, 0x78, high, low]
    }

    /// RTP messages from a number on, with others after every so many of them.
    fn call(from: u16, every: u16, others: &[[u8; 4]]) -> Vec<[u8; 4]> {
        let others = |n: u16| if n % every == every - 1 { others } else { &[] };
        (0..9000)
            .flat_map(|n| std::iter::once(rtp(from.wrapping_add(n))).chain(others(n).iter().copied()))
            .collect()
    }

    #[test]
    fn rtcp_and_stun_in_the_flow_of_rtp_are_no_losses() {
        let rtcp = [0x81, 0xc9, 0, 7];
        let stun = [0, 1, 0, 0x50];
        let expected = Numbered { arrived: 9000, missing: 0, duplicated: 0, reordered: 0 };
        // The lengths are above the number, below it, and near it when it wraps.
        for from in [100, 20_000, 57_000, 64_000] {
            assert_eq!(numbered(call(from, 250, &[rtcp])), Some(expected), "{from}");
            assert_eq!(numbered(call(from, 125, &[stun])), Some(expected), "{from}");
            // A call starts with the checks of ICE, which have different lengths.
            let checks = [stun, [1, 1, 0, 0x5c], stun, [0, 1, 0, 0x40]];
            assert_eq!(
                numbered(checks.into_iter().chain(call(from, 125, &[stun]))),
                Some(expected),
                "{from}"
            );
        }
        // Losses of the call are still counted.
        let lossy = call(57_000, 125, &[rtcp, stun]).into_iter().filter(|&start| start != rtp(60_000));
        assert_eq!(numbered(lossy), Some(Numbered { arrived: 8999, missing: 1, ..expected }));
    }

    /// Results for messages of Quake III, each with its time in ticks.
    fn at_ticks(messages: impl IntoIterator<Item = (u64, u32)>) -> Option<Numbered> {
        let mut numbering = Numbering::default();
        for (tick, number) in messages {
            numbering.saw(tick * TICK_NS, quake(number));
        }
        numbering.numbered()
    }

    #[test]
    fn numbers_skipped_are_lost_only_if_the_time_could_hold_them() {
        let expected = Numbered { arrived: 2000, missing: 0, duplicated: 0, reordered: 0 };
        // The sender starts again, higher or lower.
        for to in [4000, 9000, 70] {
            let skips = (0..2000u32).map(|n| (n.into(), if n < 1000 { n + 1000 } else { n + to }));
            assert_eq!(at_ticks(skips), Some(expected), "{to}");
        }
        // An outage of 3,000 messages, and one in which the sender also paused.
        for outage in [3000, 5000] {
            let lost = (0..2000u32)
                .map(|n| if n < 1000 { (n.into(), n) } else { (u64::from(n) + outage, n + 3000) });
            assert_eq!(at_ticks(lost), Some(Numbered { missing: 3000, ..expected }), "{outage}");
        }
        // Messages come four at a time, and one of a batch is lost.
        let batches = (0..2001u32).filter(|&n| n != 1002).map(|n| (u64::from(n) / 4 * 4, n));
        assert_eq!(at_ticks(batches), Some(Numbered { missing: 1, ..expected }));
        // Messages around the end of an outage change places.
        let swapped = (0..1000u32).chain([1201, 1200]).chain(1202..2200);
        let swapped = swapped.map(|n| (n.into(), n));
        assert_eq!(at_ticks(swapped), Some(Numbered { missing: 200, reordered: 1, ..expected }));
    }

    #[test]
    fn messages_that_are_not_of_the_counter_have_no_time_of_their_own() {
        let mut numbering = Numbering::default();
        let mut steps = |tick: u64, start| numbering.saw(tick * TICK_NS, start).map(|steps| steps[2]);
        (0..100).for_each(|n| _ = steps(n.into(), rtp(n)));
        assert_eq!(
            [steps(100, [0, 1, 1, 0x50]), steps(100, rtp(100)), steps(101, rtp(101))],
            [0, 1, 1].map(Some)
        );
        // The first message after a jump is known for one only with the second.
        assert_eq!(
            [steps(102, rtp(9000)), steps(103, rtp(9001)), steps(104, rtp(9002))],
            [0, 2, 1].map(Some)
        );
        // The numbers fit the time.
        assert_eq!([steps(404, rtp(9302)), steps(405, rtp(9303))], [300, 1].map(Some));
        // The sender stops counting.
        let random = [7u16, 30_000, 900, 60_000, 20_000].map(|number| steps(406, rtp(number)));
        assert_eq!(random, [0, 0, 0, 1, 1].map(Some));
    }
}
