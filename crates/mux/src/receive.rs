//! The receiving state of one stream: data in order that waits to be read, and data above a hole.
//! [`Demux`](crate::Demux) keeps one for each stream; when to send feedback is decided there.

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

/// Result of taking one data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// New payload bytes.
    pub fresh: u64,
    /// Payload bytes that had already arrived.
    pub duplicate: u64,
    /// The data was held back, because earlier data is missing.
    pub held: bool,
    /// There is new data to read, or the end.
    pub readable: bool,
    /// Earlier frames that this one released by filling a hole: their number, the sum and the maximum of their waiting
    /// times.
    pub released: u64,
    pub waited: Duration,
    pub longest: Duration,
}

#[derive(Debug)]
pub(crate) struct ReceiveStream<B> {
    /// All bytes below have arrived.
    next: u64,
    /// All bytes below have been read.
    read: u64,
    ready: VecDeque<B>,
    /// Data above the first hole: ascending, disjoint, all above `next`.
    held: VecDeque<Held<B>>,
    end: Option<u64>,
    end_read: bool,
    /// Offset up to which the peer may send.
    pub limit: u64,
    /// Offset that was last acknowledged.
    pub told: u64,
    cursors: [u64; MAX_CARRIERS],
    pub ack_owed: bool,
    pub credit_owed: bool,
    /// The stream is in the list of readable streams.
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

    /// Offset to acknowledge: the bytes in order, plus one if the end has arrived.
    pub(crate) fn received(&self) -> u64 {
        self.next + u64::from(self.is_complete())
    }

    fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Bytes held: in order and not read, or above a hole.
    pub(crate) fn buffered(&self) -> u64 {
        self.next - self.read + self.held.iter().map(|held| held.body.len() as u64).sum::<u64>()
    }

    /// Returns the next bytes in order, at most `max`.
    pub(crate) fn read(&mut self, max: usize) -> Option<B> {
        let front = self.ready.front_mut()?;
        let body = if front.len() > max { front.split_to(max) } else { self.ready.pop_front()? };
        self.read += body.len() as u64;
        Some(body)
    }

    pub(crate) fn is_readable(&self) -> bool {
        !self.ready.is_empty() || (self.is_complete() && !self.end_read)
    }

    /// Returns true once, when everything was read and no more will come.
    pub(crate) fn read_end(&mut self) -> bool {
        let ended = self.is_complete() && self.read == self.next && !self.end_read;
        self.end_read |= ended;
        ended
    }

    pub(crate) const fn is_end_read(&self) -> bool {
        self.end_read
    }

    /// Returns the new limit if it is worth a frame: half a window was read since the last one was announced.
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

    /// Keeps the part of `body` that is new.
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
