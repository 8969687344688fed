//! The receiving half: frames come in from any carrier, each stream's bytes go out once and in order. Streams know nothing of
//! each other: a hole in one, or one that nobody reads, holds back no other.
//!
//! Inputs: [`expect`](Demux::expect), [`handle_data`](Demux::handle_data), [`forget`](Demux::forget),
//! [`carrier_down`](Demux::carrier_down). Outputs: [`poll_readable`](Demux::poll_readable) and then
//! [`read`](Demux::read), [`poll_feedback`](Demux::poll_feedback), [`poll_timeout`](Demux::poll_timeout).

use crate::body::Body;
use crate::config::{CarrierId, StreamId};
use crate::error::ProtocolError;
use crate::frame::{Frame, Position};
use crate::receive::ReceiveStream;
use alloc::collections::{BTreeMap, VecDeque};
use gamelane_core::{Duration, Instant};

/// What became of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It brought something.
    Fresh,
    /// All of it had been here.
    Duplicate,
    /// No such stream, or no longer.
    Unknown,
}

/// What arrived. Bytes are of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemuxCounters {
    /// Data frames.
    pub data_frames: u64,
    /// Payload that was new.
    pub payload_bytes: u64,
    /// Payload that had been here already.
    pub duplicate_bytes: u64,
    /// Data frames that brought nothing else.
    pub duplicate_frames: u64,
    /// Frames held back behind a hole in their own stream.
    pub held_frames: u64,
    /// How long they waited, together.
    pub held_time: Duration,
    /// The longest of these waits.
    pub longest_hold: Duration,
    /// Data of streams no longer known.
    pub stale_frames: u64,
}

/// The receiving half of one end. See the [module](self).
#[derive(Debug)]
pub struct Demux<B> {
    window: u64,
    ack_delay: Duration,
    streams: BTreeMap<StreamId, ReceiveStream<B>>,
    readable: VecDeque<StreamId>,
    acks: VecDeque<StreamId>,
    /// When the acknowledgements owed are to be said.
    acks_due: Option<Instant>,
    credits: VecDeque<StreamId>,
    buffered: u64,
    counters: DemuxCounters,
}

impl<B: Body> Demux<B> {
    /// `window`: bytes of each stream taken before they are read. `ack_delay`: how long an acknowledgement waits for company.
    pub fn new(window: u64, ack_delay: Duration) -> Self {
        Self {
            window,
            ack_delay,
            streams: BTreeMap::new(),
            readable: VecDeque::new(),
            acks: VecDeque::new(),
            acks_due: None,
            credits: VecDeque::new(),
            buffered: 0,
            counters: DemuxCounters::default(),
        }
    }

    /// A stream exists; from now on its data is taken.
    pub fn expect(&mut self, stream: StreamId) {
        self.streams.entry(stream).or_insert_with(|| ReceiveStream::new(self.window));
    }

    /// Bytes of a stream from a carrier.
    pub fn handle_data(
        &mut self,
        carrier: CarrierId,
        stream: StreamId,
        position: Position,
        fin: bool,
        body: B,
        now: Instant,
    ) -> Result<Received, ProtocolError> {
        self.counters.data_frames += 1;
        let Some(receiver) = self.streams.get_mut(&stream) else {
            self.counters.stale_frames += 1;
            return Ok(Received::Unknown);
        };
        let empty = body.is_empty();
        let taken = receiver.take(carrier, position, fin, body, now)?;
        self.buffered += taken.fresh;
        let counters = &mut self.counters;
        counters.payload_bytes += taken.fresh;
        counters.duplicate_bytes += taken.duplicate;
        counters.held_frames += u64::from(taken.held);
        counters.held_time += taken.waited;
        counters.longest_hold = counters.longest_hold.max(taken.longest);
        if taken.readable && !receiver.listed {
            receiver.listed = true;
            self.readable.push_back(stream);
        }
        self.owe_ack(stream, now);
        if taken.fresh == 0 && !empty {
            self.counters.duplicate_frames += 1;
            return Ok(Received::Duplicate);
        }
        Ok(Received::Fresh)
    }

    /// A stream with something to read, or that has ended. Comes again only after it has been read dry.
    pub fn poll_readable(&mut self) -> Option<StreamId> {
        while let Some(stream) = self.readable.pop_front() {
            if let Some(receiver) = self.streams.get_mut(&stream) {
                receiver.listed = false;
                if receiver.is_readable() {
                    return Some(stream);
                }
            }
        }
        None
    }

    /// The next bytes of the stream, at most `max`. Reading gives the peer credit.
    pub fn read(&mut self, stream: StreamId, max: usize) -> Option<B> {
        let receiver = self.streams.get_mut(&stream)?;
        let body = receiver.read(max)?;
        self.buffered -= body.len() as u64;
        if !receiver.credit_owed && receiver.credit_due(self.window).is_some() {
            receiver.credit_owed = true;
            self.credits.push_back(stream);
        }
        Some(body)
    }

    /// True once, when the stream has ended and all of it was read. The stream is forgotten as soon as that is acknowledged.
    pub fn read_end(&mut self, stream: StreamId) -> bool {
        let Some(receiver) = self.streams.get_mut(&stream) else { return false };
        let ended = receiver.read_end();
        if ended && !receiver.ack_owed {
            self.streams.remove(&stream);
        }
        ended
    }

    /// The next piece of whatever stream has one.
    pub fn poll_delivery(&mut self) -> Option<(StreamId, B)> {
        loop {
            let stream = self.poll_readable()?;
            if let Some(body) = self.read(stream, usize::MAX) {
                self.relist(stream);
                return Some((stream, body));
            }
            self.read_end(stream);
        }
    }

    /// Drops a stream and what it holds.
    pub fn forget(&mut self, stream: StreamId) {
        if let Some(receiver) = self.streams.remove(&stream) {
            self.buffered -= receiver.buffered();
        }
    }

    /// True while the stream's data is taken.
    pub fn knows(&self, stream: StreamId) -> bool {
        self.streams.contains_key(&stream)
    }

    /// The carrier is lost, and with it perhaps what was said on it: everything is said again.
    pub fn carrier_down(&mut self, carrier: CarrierId, now: Instant) {
        for (stream, receiver) in &mut self.streams {
            receiver.lose(carrier);
            if !receiver.ack_owed {
                receiver.ack_owed = true;
                self.acks.push_back(*stream);
            }
            if !receiver.credit_owed && receiver.limit > self.window {
                receiver.credit_owed = true;
                self.credits.push_back(*stream);
            }
        }
        if !self.acks.is_empty() {
            self.acks_due.get_or_insert(now);
        }
    }

    /// Owes the peer an acknowledgement of the stream: it has been opened, or was asked for.
    pub fn owe_ack(&mut self, stream: StreamId, now: Instant) {
        let Some(receiver) = self.streams.get_mut(&stream) else { return };
        if !receiver.ack_owed {
            receiver.ack_owed = true;
            self.acks.push_back(stream);
            self.acks_due.get_or_insert(now.saturating_add(self.ack_delay));
        }
        // A sender's buffer must not run full for want of an acknowledgement.
        if receiver.received() - receiver.told >= self.window / 4 {
            self.acks_due = Some(now);
        }
    }

    /// What to say to the peer: credits at once, acknowledgements when they have waited long enough, or when something is
    /// going out anyway (`along`). On any ordered carrier.
    pub fn poll_feedback(&mut self, along: bool, now: Instant) -> Option<Frame<B>> {
        while let Some(stream) = self.credits.pop_front() {
            let Some(receiver) = self.streams.get_mut(&stream) else { continue };
            receiver.credit_owed = false;
            receiver.limit = receiver.credit_due(self.window).unwrap_or(receiver.limit);
            return Some(Frame::Credit { stream, limit: receiver.limit });
        }
        let due = self.acks_due?;
        if !along && due > now {
            return None;
        }
        // Once some are due all of them go.
        self.acks_due = Some(due.min(now));
        while let Some(stream) = self.acks.pop_front() {
            let Some(receiver) = self.streams.get_mut(&stream) else { continue };
            receiver.ack_owed = false;
            let offset = receiver.received();
            receiver.told = offset;
            if receiver.is_end_read() {
                self.streams.remove(&stream);
            }
            return Some(Frame::Ack { stream, offset });
        }
        self.acks_due = None;
        None
    }

    /// Acknowledgements waiting to be said.
    pub fn acks_owed(&self) -> usize {
        self.acks.len()
    }

    /// When [`poll_feedback`](Self::poll_feedback) has something.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if !self.credits.is_empty() {
            return Some(Instant::ZERO);
        }
        self.acks_due
    }

    /// Where each stream stands: what a peer needs to know to resume.
    pub fn positions(&self) -> impl Iterator<Item = (StreamId, u64)> + '_ {
        self.streams.iter().map(|(stream, receiver)| (*stream, receiver.received()))
    }

    /// Payload held.
    pub const fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Streams known.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// What has arrived so far.
    pub const fn counters(&self) -> DemuxCounters {
        self.counters
    }

    fn relist(&mut self, stream: StreamId) {
        if let Some(receiver) = self.streams.get_mut(&stream)
            && receiver.is_readable()
            && !receiver.listed
        {
            receiver.listed = true;
            self.readable.push_front(stream);
        }
    }
}
