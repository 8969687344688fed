//! The kernel's type information: any bytes are read to an end, and what is found fits.

use crate::btf::Btf;

/// Type information, with names of a few letters.
pub(crate) fn types(bytes: &[u8]) {
    let Some(btf) = Btf::of_files(&[bytes]) else { return };
    for name in ["", "a", "bpf"] {
        let numbers = [btf.function(name).map(i64::from), btf.tracepoint(name).map(i64::from)];
        for number in numbers.into_iter().flatten() {
            // A type has at least 12 bytes, and the header 24.
            assert!(number >= 1 && number as usize * 12 <= bytes.len(), "{number}");
        }
        assert!(btf.values(name).len() * 8 <= bytes.len());
        let _ = (btf.size(name), btf.member(name, "a"), btf.member(name, "bpf"));
    }
}
