//! A reader seen through a window that slides over it: records are parsed where the system put them, never copied. Offsets
//! count bytes from the start of the stream, so that an error can say where it is.

use std::io::{Error, ErrorKind, Read};

/// The part of a stream that is in memory.
#[derive(Debug)]
pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What the caller sees is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Position in the stream of `start`.
    offset: u64,
    /// Why nothing more comes: the end (`None`), or an error.
    ended: Option<Option<Error>>,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; INITIAL], start: 0, end: 0, offset: 0, ended: None }
    }

    /// Position in the stream of the first byte of [`Window::bytes`].
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// What is in memory and not consumed.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads until at least `len` bytes are in memory; false if the stream ends before. What has been read stays.
    #[inline]
    pub(super) fn fill(&mut self, len: usize) -> bool {
        self.end - self.start >= len || self.read(len)
    }

    #[cold]
    fn read(&mut self, len: usize) -> bool {
        while self.end - self.start < len {
            if self.ended.is_some() {
                return false;
            }
            self.make_room(len);
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = Some(None),
                Ok(more) => self.end += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.ended = Some(Some(error)),
            }
        }
        true
    }

    /// The error that ended the stream, if one did; told once.
    pub(super) fn error(&mut self) -> Option<Error> {
        self.ended.as_mut().and_then(Option::take)
    }

    /// Moves on by `len` bytes, which must be in memory.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        debug_assert!(len <= self.end - self.start, "only what is in memory can be consumed");
        self.start += len;
        self.offset += len as u64;
    }

    /// Moves what is left to the front, and grows by no more than doubling: a length that a damaged file claims takes no
    /// memory until that many bytes have come.
    fn make_room(&mut self, wanted: usize) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let len = wanted.min(self.buffer.len() * 2);
            self.buffer.resize(len, 0);
        }
    }
}

/// Fits the second-level cache, so that reading from the page cache costs one pass.
const INITIAL: usize = 256 << 10;
