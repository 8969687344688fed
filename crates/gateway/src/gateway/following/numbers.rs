//! Finds the sequence number of a stream. Looks where protocols of calls and games have one and checks that it counts: RTP, also
//! encrypted (RFC 3550 section 5.1, RFC 3711 section 3.1), the channel of id Software's games and Source, and `gamelane traffic`.
//! Without a number, late packets cannot be told from lost ones, so such a stream gives no signal.

/// Fields that are tried, the most reliable first.
const FIELDS: [Field; 3] = [Field::Generator, Field::Rtp, Field::Channel];

#[derive(Clone, Copy, Debug)]
enum Field {
    /// Four bytes after a type byte (`gamelane_generator::wire`).
    Generator,
    /// RTP version 2; multiplexed RTCP is left out (RFC 5761 section 4).
    Rtp,
    /// The first four bytes, little-endian. The highest bit marks a fragment.
    Channel,
}

impl Field {
    /// Returns the value in the upper bits of a word, so that all fields wrap alike, and the number of bits below it.
    fn read(self, payload: &[u8]) -> Option<(u32, u32)> {
        match (self, payload) {
            (Self::Generator, [kind, number @ ..]) if kind & 0x87 == 0x84 => {
                Some((u32::from_be_bytes(*number.first_chunk()?), 0))
            }
            (Self::Rtp, [first, kind, high, low, _, _, _, _, _, _, _, _, ..])
                if first >> 6 == 2 && !(192..224).contains(kind) =>
            {
                Some((u32::from_be_bytes([*high, *low, 0, 0]), 16))
            }
            (Self::Channel, [a, b, c, d, ..]) => Some((u32::from_le_bytes([*a, *b, *c, *d]) << 1, 1)),
            _ => None,
        }
    }
}

/// State of a stream's numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    candidates: [Candidate; FIELDS.len()],
    /// The number without wrapping of the field.
    number: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    last: u32,
    /// Steps in a row that a counter would make.
    run: u8,
}

impl Numbers {
    /// Returns the number of a packet; `None` for a packet that was overtaken, and while no field is known.
    pub(super) fn read(&mut self, payload: &[u8]) -> Option<u32> {
        let mut number = None;
        for (field, candidate) in FIELDS.iter().zip(&mut self.candidates) {
            let Some((value, shift)) = field.read(payload) else { continue };
            let step = value.wrapping_sub(candidate.last) as i32 >> shift;
            match step {
                1..=MOST_LOST => candidate.run = candidate.run.saturating_add(1),
                OVERTAKEN..=0 => continue,
                _ => candidate.run = 0,
            }
            candidate.last = value;
            if candidate.run >= KNOWN && number.is_none() {
                self.number = self.number.wrapping_add(step as u32);
                number = Some(self.number);
            }
        }
        number
    }
}

/// Most packets missing between two.
const MOST_LOST: i32 = 50;
const OVERTAKEN: i32 = -10;
/// Steps until a field counts as a sequence number.
const KNOWN: u8 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;
    use proptest::prelude::*;

    fn rtp(number: u16, kind: u8) -> [u8; 40] {
        let mut payload = [0xaa; 40];
        [payload[0], payload[1]] = [0x80, kind];
        payload[2..4].copy_from_slice(&number.to_be_bytes());
        payload
    }

    #[test]
    fn rtp_counts_across_its_end_and_across_losses_and_rtcp_is_no_part_of_it() {
        let mut numbers = Numbers::default();
        let mut read = Vec::new();
        for step in 0..100_u16 {
            if step == 70 || step == 71 {
                continue;
            }
            read.extend(numbers.read(&rtp(65_500_u16.wrapping_add(step), 111)));
            assert_eq!(numbers.read(&rtp(7, 200)), None);
        }
        assert_eq!(numbers.read(&rtp(60, 111)), None, "overtaken");
        assert!(read.len() > 60, "{read:?}");
        let steps: Vec<u32> = read.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(steps.iter().filter(|step| **step == 3).count(), 1);
        assert_eq!(steps.iter().filter(|step| **step == 1).count(), steps.len() - 1);
    }

    #[test]
    fn the_channel_of_quake_and_the_generator_count_and_noise_does_not() {
        let (mut quake, mut ours, mut noise) = (Numbers::default(), Numbers::default(), Numbers::default());
        let mut random = Seed(1).stream("noise");
        let mut last = [None; 2];
        for number in 1000..3000_u32 {
            let piece = if number % 5 == 0 { 1 << 31 } else { 0 };
            let payload = [&(number | piece).to_le_bytes()[..], &[9; 30]].concat();
            last[0] = quake.read(&payload);
            let payload = [&[0x9c][..], &number.to_be_bytes(), &[9; 30]].concat();
            last[1] = ours.read(&payload);
            let mut payload = [0; 40];
            payload.iter_mut().for_each(|byte| *byte = random.below(256) as u8);
            payload[0] = 0x80;
            assert_eq!(noise.read(&payload), None);
            assert_eq!(noise.read(&[]), None);
        }
        assert!(last.iter().all(|number| number.is_some_and(|number| number > 1900)), "{last:?}");
    }

    proptest! {
        /// Numbers only increase, whatever the payloads.
        #[test]
        fn any_payloads(payloads in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..16)), 1..200)) {
            let mut numbers = Numbers::default();
            let mut counter = u16::MAX - 60;
            let mut last = 0;
            for (is_noise, noise) in payloads {
                counter = counter.wrapping_add(1);
                let number = if is_noise { numbers.read(&noise) } else { numbers.read(&rtp(counter, 96)) };
                if let Some(number) = number {
                    prop_assert!(number > last && number - last <= MOST_LOST as u32);
                    last = number;
                }
            }
        }
    }
}
