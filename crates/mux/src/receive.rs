//! One stream of the receiving half: what came in order and waits to be read, and what came above a hole.

use crate::body::Body;
use crate::config::{CarrierId, MAX_CARRIERS, MAX_PIECES};
use crate::error::ProtocolError;
use crate::frame::Position;
use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

#[derive(Debug)]
struct Held<B> {
    offset: u64,
    body: B,
    since: Instant,
}

impl<B: Body> Held<B> {
    fn end(&self) -> u64 {
        self.offset + self.body.len() as u64
    }
}

/// What a data frame brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Payload that was new, and that had been here.
    pub fresh: u64,
    pub duplicate: u64,
    /// It was held back because something before it is missing.
    pub held: bool,
    /// There is more to read, or the end.
    pub readable: bool,
    /// Waiting of those behind the hole that it filled: how many, together, and the longest.
    pub released: u64,
    pub waited: Duration,
    pub longest: Duration,
}

#[derive(Debug)]
pub(crate) struct ReceiveStream<B> {
    /// Everything below has come.
    next: u64,
    /// Everything below has been read.
    read: u64,
    ready: VecDeque<B>,
    /// Ascending, disjoint, all above `next`.
    held: VecDeque<Held<B>>,
    end: Option<u64>,
    end_read: bool,
    /// Bytes the peer was allowed.
    pub limit: u64,
    /// What the peer was last told has come.
    pub told: u64,
    cursors: [u64; MAX_CARRIERS],
    pub ack_owed: bool,
    pub credit_owed: bool,
    /// It is in the list of readable streams.
    pub listed: bool,
}

impl<B: Body> ReceiveStream<B> {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            next: 0,
            read: 0,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            end: None,
            end_read: false,
            limit,
            told: 0,
            cursors: [0; MAX_CARRIERS],
            ack_owed: false,
            credit_owed: false,
            listed: false,
        }
    }

    pub(crate) fn take(
        &mut self,
        carrier: CarrierId,
        position: Position,
        fin: bool,
        body: B,
        now: Instant,
    ) -> Result<Taken, ProtocolError> {
        let cursor = &mut self.cursors[carrier.index()];
        let offset = match position {
            Position::At(offset) => offset,
            Position::Continues => *cursor,
        };
        let end = offset + body.len() as u64;
        *cursor = end;
        if end > self.limit {
            return Err(ProtocolError::BeyondCredit);
        }
        if self.end.is_some_and(|known| end > known || (fin && end != known)) {
            return Err(ProtocolError::EndMoved);
        }
        if fin {
            if self.next > end || self.held.back().is_some_and(|last| last.end() > end) {
                return Err(ProtocolError::EndMoved);
            }
            self.end = Some(end);
        }
        let was = (self.next, self.is_complete());
        let mut taken = Taken::default();
        self.insert(offset, body, now, &mut taken)?;
        self.release(now, &mut taken);
        taken.held = taken.fresh > 0 && self.next == was.0;
        taken.readable = self.next > was.0 || (fin && self.is_complete());
        Ok(taken)
    }

    /// What to acknowledge: the bytes in order, and one more once the end has come.
    pub(crate) fn received(&self) -> u64 {
        self.next + u64::from(self.is_complete())
    }

    fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Bytes held here.
    pub(crate) fn buffered(&self) -> u64 {
        self.next - self.read + self.held.iter().map(|held| held.body.len() as u64).sum::<u64>()
    }

    /// The next bytes in order, as they came, at most `max` of them.
    pub(crate) fn read(&mut self, max: usize) -> Option<B> {
        let front = self.ready.front_mut()?;
        let body = if front.len() > max { front.split_to(max) } else { self.ready.pop_front()? };
        self.read += body.len() as u64;
        Some(body)
    }

    pub(crate) fn is_readable(&self) -> bool {
        !self.ready.is_empty() || (self.is_complete() && !self.end_read)
    }

    /// True once: when everything has been read and no more will come.
    pub(crate) fn read_end(&mut self) -> bool {
        let ended = self.is_complete() && self.read == self.next && !self.end_read;
        self.end_read |= ended;
        ended
    }

    pub(crate) const fn is_end_read(&self) -> bool {
        self.end_read
    }

    /// The limit to announce, if it is worth a frame: when half a window has been read since the last.
    pub(crate) const fn credit_due(&self, window: u64) -> Option<u64> {
        let limit = self.read.saturating_add(window);
        if self.end.is_none() && limit.saturating_sub(self.limit) >= window.div_ceil(2) {
            Some(limit)
        } else {
            None
        }
    }

    pub(crate) fn lose(&mut self, carrier: CarrierId) {
        self.cursors[carrier.index()] = 0;
    }

    /// Keeps what of the body is new.
    fn insert(
        &mut self,
        mut offset: u64,
        mut body: B,
        now: Instant,
        taken: &mut Taken,
    ) -> Result<(), ProtocolError> {
        let mut skip = |offset: &mut u64, body: &mut B, below: u64| {
            if *offset < below {
                let known = usize::try_from(below - *offset).unwrap_or(usize::MAX).min(body.len());
                drop(body.split_to(known));
                *offset += known as u64;
                taken.duplicate += known as u64;
            }
        };
        skip(&mut offset, &mut body, self.next);
        let mut index = self.held.partition_point(|held| held.end() <= offset);
        while !body.is_empty() {
            let Some(above) = self.held.get(index) else { break };
            if above.offset >= offset + body.len() as u64 {
                break;
            }
            if above.offset > offset {
                let gap = usize::try_from(above.offset - offset).expect("less than the body");
                let part = body.split_to(gap);
                taken.fresh += gap as u64;
                self.held.insert(index, Held { offset, body: part, since: now });
                offset += gap as u64;
                index += 1;
            }
            let end = self.held[index].end();
            skip(&mut offset, &mut body, end);
            index += 1;
        }
        if !body.is_empty() {
            taken.fresh += body.len() as u64;
            if offset == self.next && self.held.is_empty() {
                self.next += body.len() as u64;
                self.ready.push_back(body);
            } else {
                self.held.insert(index, Held { offset, body, since: now });
            }
        }
        if self.held.len() > MAX_PIECES { Err(ProtocolError::TooScattered) } else { Ok(()) }
    }

    fn release(&mut self, now: Instant, taken: &mut Taken) {
        while self.held.front().is_some_and(|first| first.offset == self.next) {
            let first = self.held.pop_front().expect("just seen");
            self.next = first.end();
            self.ready.push_back(first.body);
            let waited = now.saturating_since(first.since);
            if !waited.is_zero() {
                taken.released += 1;
                taken.waited += waited;
                taken.longest = taken.longest.max(waited);
            }
        }
    }
}
