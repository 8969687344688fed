//! A part of a frame: its captured bytes, and its length before the capture cut it.

use std::ops::Range;

/// Bytes of a frame from some header on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Captured bytes, at most `len`.
    pub(crate) bytes: &'a [u8],
    /// Length in bytes before the capture cut the frame.
    pub(crate) len: u32,
}

impl<'a> Part<'a> {
    /// Range of the captured bytes in `whole`, of which they must be a part.
    pub(crate) fn range_in(self, whole: &[u8]) -> Range<usize> {
        let start = self.bytes.as_ptr().addr() - whole.as_ptr().addr();
        start..start + self.bytes.len()
    }

    /// Removes `count` bytes at the start; `None` if fewer were captured.
    #[inline]
    pub(super) fn skip(self, count: usize) -> Option<Self> {
        Some(Self { bytes: self.bytes.get(count..)?, len: self.len.saturating_sub(count as u32) })
    }

    /// Shortens the part to `len` bytes, the length that a header states. A shorter part stays as it is.
    #[inline]
    pub(crate) fn keep(self, len: u32) -> Self {
        let captured = self.bytes.len().min(len as usize);
        Self { bytes: &self.bytes[..captured], len: self.len.min(len) }
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
