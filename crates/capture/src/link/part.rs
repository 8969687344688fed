//! A part of a frame: its captured bytes, and its length before the capture cut it.

/// Bytes of a frame from some header on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Captured bytes, at most `len`.
    pub(crate) bytes: &'a [u8],
    /// Length in bytes before the capture cut the frame.
    pub(crate) len: u32,
    /// Bytes of the frame before this part.
    pub(crate) start: usize,
}

impl<'a> Part<'a> {
    /// A frame of `original_len` bytes, of which the last `check_sequence` are its frame check sequence.
    #[inline]
    pub(crate) fn frame(bytes: &'a [u8], original_len: u32, check_sequence: u32) -> Self {
        // Some programs write an original length below the captured one.
        let len = original_len.max(bytes.len() as u32);
        let frame = Self { bytes, len, start: 0 };
        if check_sequence == 0 { frame } else { frame.keep(len.saturating_sub(check_sequence)) }
    }

    /// Removes `count` bytes at the start; `None` if fewer were captured.
    #[inline]
    pub(super) fn skip(self, count: usize) -> Option<Self> {
        Some(Self {
            bytes: self.bytes.get(count..)?,
            len: self.len.saturating_sub(count as u32),
            start: self.start + count,
        })
    }

    /// Keeps at most `len` bytes, as a header states.
    #[inline]
    pub(super) fn keep(self, len: u32) -> Self {
        let captured = self.bytes.len().min(len as usize);
        Self { bytes: &self.bytes[..captured], len: self.len.min(len), start: self.start }
    }

    /// Forgets the length: the recorder cut the packet and stored the length of the rest.
    pub(super) fn of_unknown_len(self) -> Self {
        Self { len: self.len.max(MAX_PACKET), ..self }
    }

    /// The first `N` bytes and the part after them.
    #[inline]
    pub(super) fn split<const N: usize>(self) -> Option<([u8; N], Self)> {
        Some((*self.bytes.first_chunk::<N>()?, self.skip(N)?))
    }
}

/// Maximum length of an IP packet that states its length.
const MAX_PACKET: u32 = 65_535;
