//! The kernel's type information: any bytes are read to an end, and a function that is found has a number that fits.

use crate::btf::find;

/// Type information, with names of a few letters.
pub(crate) fn types(bytes: &[u8]) {
    for name in ["", "a", "bpf"] {
        if let Some(number) = find(bytes, name) {
            // A type has at least 12 bytes, and the header 24.
            assert!(number >= 1 && number as usize * 12 <= bytes.len(), "{number}");
            assert_eq!(find(&bytes[..8], name), None);
        }
    }
}
