//! Data written by the application and not sent yet. Only offsets are kept, since this TCP moves lengths, not bytes.
//! The ends of writes are kept for PSH, and because without Nagle a small write becomes a segment of its own.

use crate::segment::MAX_OFFSET;
use alloc::collections::VecDeque;
use gamelane_core::ByteCount;

/// The unsent part of the stream.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    /// Offset after the last byte written.
    end: u64,
    /// The source is endless: more data always follows.
    endless: bool,
    closing: bool,
    /// Ends of the unsent writes, ascending.
    writes: VecDeque<u64>,
    /// The last write was offered to the sender and held back. The next write is appended to it, as in a socket buffer.
    held: bool,
}

impl Outbox {
    /// An empty outbox whose first byte will have offset `first`.
    pub(crate) fn new(first: u64) -> Self {
        Self { end: first, endless: false, closing: false, writes: VecDeque::new(), held: false }
    }

    pub(crate) fn write(&mut self, bytes: ByteCount) {
        if self.closing || self.endless || bytes == ByteCount::ZERO {
            return;
        }
        self.end = self.end.saturating_add(bytes.bytes()).min(MAX_OFFSET);
        match self.writes.back_mut() {
            Some(last) if self.held => *last = self.end,
            _ => self.writes.push_back(self.end),
        }
        self.held = false;
    }

    pub(crate) fn write_forever(&mut self) {
        self.endless = !self.closing;
    }

    /// Closes the stream. An endless source ends at `next`, the next offset to send.
    pub(crate) fn close(&mut self, next: u64) {
        self.closing = true;
        if self.endless {
            self.endless = false;
            self.end = next;
            self.writes.clear();
        }
    }

    pub(crate) const fn is_closing(&self) -> bool {
        self.closing
    }

    /// Bytes that could be sent from `next` on.
    pub(crate) const fn unsent(&self, next: u64) -> u64 {
        if self.endless { u64::MAX } else { self.end.saturating_sub(next) }
    }

    /// Bytes from `next` to the end of its write.
    pub(crate) fn rest_of_write(&self, next: u64) -> u64 {
        match self.writes.front() {
            Some(end) if !self.endless => end - next,
            _ => self.unsent(next),
        }
    }

    /// Removes data up to `end`, which was sent. Returns true if a write ends there.
    pub(crate) fn sent(&mut self, end: u64) -> bool {
        let mut push = false;
        while let Some(&write) = self.writes.front() {
            if write > end {
                break;
            }
            push = write == end;
            self.writes.pop_front();
        }
        push
    }

    /// Notes that unsent data was offered and held back.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_keep_their_ends_until_they_are_held_back() {
        let mut outbox = Outbox::new(1);
        outbox.write(ByteCount(100));
        outbox.write(ByteCount(50));
        assert_eq!((outbox.unsent(1), outbox.rest_of_write(1)), (150, 100));
        assert!(outbox.sent(101));
        outbox.hold();
        outbox.write(ByteCount(10));
        assert_eq!(outbox.rest_of_write(101), 60);
        assert!(!outbox.sent(141));
        assert!(outbox.sent(161));
    }

    #[test]
    fn an_endless_source_ends_where_sending_has_come() {
        let mut outbox = Outbox::new(1);
        outbox.write_forever();
        assert_eq!(outbox.unsent(1000), u64::MAX);
        outbox.close(1449);
        assert_eq!(outbox.unsent(1449), 0);
    }
}
