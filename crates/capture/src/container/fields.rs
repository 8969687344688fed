//! Integers in the byte order of a file or section. Bounds are the caller's responsibility.

/// Byte order. A field must be inside the slice.
#[derive(Clone, Copy, Debug)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

macro_rules! field {
    ($name:ident, $type:ty, $len:literal) => {
        #[inline]
        pub(super) fn $name(self, bytes: &[u8], at: usize) -> $type {
            let field: [u8; $len] = bytes[at..at + $len].try_into().expect("the range has this length");
            match self {
                Self::Little => <$type>::from_le_bytes(field),
                Self::Big => <$type>::from_be_bytes(field),
            }
        }
    };
}

impl ByteOrder {
    field!(u16, u16, 2);
    field!(u32, u32, 4);
    field!(u64, u64, 8);
}
