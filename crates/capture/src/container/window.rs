//! A sliding window over a reader. Records are parsed in place, without copying. Offsets count from the start of the
//! stream, so an error can name its position. Seeking is left out, so pipes work.

use std::io::{Error, ErrorKind, Read};

/// The part of a stream that is in memory.
#[derive(Debug)]
pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The caller sees `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Position of `start` in the stream.
    offset: u64,
    /// Reason of the end: end of file (`None`) or an error.
    ended: Option<Option<Error>>,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; INITIAL], start: 0, end: 0, offset: 0, ended: None }
    }

    /// Position of the first byte of [`Window::bytes`] in the stream.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes in memory that are not consumed.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads until at least `len` bytes are in memory. Returns false if the stream ends before; the bytes read are
    /// kept.
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

    /// Takes the error that ended the stream, if there was one.
    pub(super) fn error(&mut self) -> Option<Error> {
        self.ended.as_mut().and_then(Option::take)
    }

    /// Moves the window forward by `len` bytes, which must be in memory.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        debug_assert!(len <= self.end - self.start, "only bytes in memory can be consumed");
        self.start += len;
        self.offset += len as u64;
    }

    /// Moves the remaining bytes to the front, and at most doubles the buffer. So a wrong length in a damaged file
    /// takes no memory until that many bytes have arrived.
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

/// Initial size: fits into the second-level cache, so bytes from the page cache are read once.
/// The fuzzer's inputs are short, so that they too must grow and move the window.
const INITIAL: usize = if cfg!(fuzzing) { 64 } else { 256 << 10 };
