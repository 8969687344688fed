//! Variable-length integers of RFC 9000 section 16. The two top bits of the first byte give the length: 1, 2, 4 or 8
//! bytes.

use alloc::vec::Vec;

/// The largest value that can be encoded.
pub const MAX: u64 = (1 << 62) - 1;

/// Encoded length of `value` in bytes. `value` must not exceed [`MAX`].
pub const fn len(value: u64) -> usize {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// Appends `value`, which must not exceed [`MAX`].
pub fn put(value: u64, out: &mut Vec<u8>) {
    debug_assert!(value <= MAX);
    let bytes = value.to_be_bytes();
    let start = out.len();
    match len(value) {
        1 => out.push(bytes[7]),
        2 => out.extend_from_slice(&bytes[6..]),
        4 => out.extend_from_slice(&bytes[4..]),
        _ => out.extend_from_slice(&bytes),
    }
    out[start] |= match out.len() - start {
        1 => 0x00,
        2 => 0x40,
        4 => 0x80,
        _ => 0xc0,
    };
}

/// Reads one integer from the front of `bytes`. Returns it and the remaining bytes, or `None` if it is incomplete.
pub fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = number[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 9000 appendix A.1.
        let examples: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(take(bytes), Some((value, &[][..])));
            let mut written = Vec::new();
            put(value, &mut written);
            assert_eq!(written, bytes);
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(value in 0..=MAX, shift in 0..62_u32) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(value, &mut bytes);
            prop_assert_eq!(bytes.len(), len(value));
            for cut in 0..bytes.len() {
                prop_assert_eq!(take(&bytes[..cut]), None);
            }
            prop_assert_eq!(take(&bytes), Some((value, &[][..])));
        }
    }
}
