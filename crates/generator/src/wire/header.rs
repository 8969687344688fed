//! Header of a data packet. The packet has the size that its model says; the header uses what fits: a number of up to four bytes,
//! then the send time, then an echo of the last packet received (its number and the time since its arrival, as in RTP's reports, RFC
//! 3550 section 6.4.1). The rest of the packet is zero.

/// Marks a data packet. The bits below say which fields its header has.
const DATA: u8 = 0x80;
const HAS_STAMP: u8 = 0x08;
const HAS_ECHO: u8 = 0x10;
const NUMBER_BYTES: u8 = 0x07;

/// Header of a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Number of the packet; each direction counts from zero.
    pub number: u32,
    /// Send time, in nanoseconds of the sender's clock.
    pub stamp_ns: Option<u64>,
    /// Echo of the last packet that the sender received.
    pub echo: Option<Echo>,
}

/// Echo of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Number of the received packet.
    pub number: u32,
    /// Time from its arrival to the sending of the echo, in nanoseconds.
    pub held_ns: u32,
}

impl Header {
    /// Writes as much of the header as fits into `packet`, whose length the application chose, and zeros behind it. Returns true if
    /// the echo was written.
    pub fn write(&self, packet: &mut [u8]) -> bool {
        packet.fill(0);
        let Some((kind, rest)) = packet.split_first_mut() else { return false };
        let bytes = rest.len().min(4);
        *kind = DATA | bytes as u8;
        let (number, rest) = rest.split_at_mut(bytes);
        number.copy_from_slice(&self.number.to_be_bytes()[4 - bytes..]);
        let (Some(stamp_ns), Some((stamp, rest))) = (self.stamp_ns, rest.split_first_chunk_mut::<8>()) else {
            return false;
        };
        *kind |= HAS_STAMP;
        *stamp = stamp_ns.to_be_bytes();
        let (Some(echo), Some((number, rest))) = (self.echo, rest.split_first_chunk_mut::<4>()) else {
            return false;
        };
        let Some((held, _)) = rest.split_first_chunk_mut::<4>() else { return false };
        *kind |= HAS_ECHO;
        *number = echo.number.to_be_bytes();
        *held = echo.held_ns.to_be_bytes();
        true
    }

    /// Reads a data packet. A short packet has only the low bytes of its number; the rest is restored from `expected`, the number
    /// that would come next (RFC 9000 appendix A.3).
    pub fn read(packet: &[u8], expected: u32) -> Option<Self> {
        let (kind, rest) = packet.split_first()?;
        if kind & DATA == 0 || kind & !(DATA | HAS_STAMP | HAS_ECHO | NUMBER_BYTES) != 0 {
            return None;
        }
        let bytes = usize::from(kind & NUMBER_BYTES);
        if bytes > 4 {
            return None;
        }
        let (digits, mut rest) = rest.split_at_checked(bytes)?;
        let low = digits.iter().fold(0, |number, digit| number << 8 | u32::from(*digit));
        let mut header = Self { number: restore(low, bytes, expected), ..Self::default() };
        if kind & HAS_STAMP != 0 {
            let (stamp, after) = rest.split_first_chunk::<8>()?;
            header.stamp_ns = Some(u64::from_be_bytes(*stamp));
            rest = after;
        }
        if kind & HAS_ECHO != 0 {
            let (number, after) = rest.split_first_chunk::<4>()?;
            let (held, _) = after.split_first_chunk::<4>()?;
            header.echo =
                Some(Echo { number: u32::from_be_bytes(*number), held_ns: u32::from_be_bytes(*held) });
        }
        Some(header)
    }
}

/// Returns the number nearest to `expected` whose lowest `bytes` bytes are `low`.
fn restore(low: u32, bytes: usize, expected: u32) -> u32 {
    if bytes >= 4 {
        return low;
    }
    let window = 1u32 << (8 * bytes);
    let candidate = expected & !(window - 1) | low;
    let ahead = candidate.wrapping_sub(expected) as i32;
    if ahead > (window / 2) as i32 && candidate >= window {
        candidate - window
    } else if ahead <= -((window / 2) as i32) && bytes > 0 {
        candidate.wrapping_add(window)
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_packets_get_shorter_headers() {
        let full =
            Header { number: 0x0102_0304, stamp_ns: Some(99), echo: Some(Echo { number: 7, held_ns: 8 }) };
        let read = |len: usize| {
            let mut packet = vec![0xff; len];
            full.write(&mut packet);
            Header::read(&packet, 0x0102_0300)
        };
        assert_eq!(read(0), None);
        for len in 2..13 {
            assert_eq!(read(len), Some(Header { stamp_ns: None, echo: None, ..full }), "{len}");
        }
        for len in 13..21 {
            assert_eq!(read(len), Some(Header { echo: None, ..full }), "{len}");
        }
        for len in [21, 30, LONGEST] {
            assert_eq!(read(len), Some(full), "{len}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_restored_near_the_expected_one(expected in any::<u32>(), off in -127i64..=127, len in 2usize..6) {
            let number = i64::from(expected) + off;
            prop_assume!((0..=i64::from(u32::MAX)).contains(&number));
            let header = Header { number: number as u32, ..Header::default() };
            let mut packet = vec![0; len];
            header.write(&mut packet);
            prop_assert_eq!(Header::read(&packet, expected).map(|header| header.number), Some(number as u32));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), expected in any::<u32>()) {
            let _ = Header::read(&bytes, expected);
        }
    }
}
