//! The receiving half: frames come in from any carrier, and the bytes of each stream go out once and in order. Streams
//! are independent: a hole in one stream, or a stream that nobody reads, does not hold back the others. Opening and
//! closing of streams is left to [`Session`](crate::Session).
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

/// Result of handling a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The frame had new data, or was empty.
    Fresh,
    /// All of its data had already arrived.
    Duplicate,
    /// The stream is not known (any more).
    Unknown,
}

/// Counters of the receiving half. Bytes are payload bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemuxCounters {
    /// Data frames received.
    pub data_frames: u64,
    /// New payload.
    pub payload_bytes: u64,
    /// Payload that had already arrived.
    pub duplicate_bytes: u64,
    /// Data frames that had nothing new.
    pub duplicate_frames: u64,
    /// Frames held back behind a hole in their own stream.
    pub held_frames: u64,
    /// Sum of their waiting times.
    pub held_time: Duration,
    /// The longest of these waiting times.
    pub longest_hold: Duration,
    /// Data frames of streams that are no longer known.
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
    /// When the owed acknowledgements must be sent.
    acks_due: Option<Instant>,
    credits: VecDeque<StreamId>,
    buffered: u64,
    counters: DemuxCounters,
}

impl<B: Body> Demux<B> {
    /// A receiving half without streams. `window` is the number of bytes of each stream that it accepts before they are
    /// read. `ack_delay` is how long an acknowledgement waits for other frames to share a packet with.
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

    /// Registers a stream. Data of it is accepted from now on.
    pub fn expect(&mut self, stream: StreamId) {
        self.streams.entry(stream).or_insert_with(|| ReceiveStream::new(self.window));
    }

    /// Handles a data frame from a carrier.
    ///
    /// # Errors
    /// If the frame exceeds the credit, contradicts the known end of the stream, or would split it into too many
    /// pieces.
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

    /// Returns a stream that has data to read or has ended. Returns it again only after it was read empty and got more.
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

    /// Returns the next bytes of the stream, at most `max`. Reading gives the peer credit.
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

    /// Returns true once, when the stream has ended and was read completely. The stream is forgotten as soon as the end
    /// is acknowledged.
    pub fn read_end(&mut self, stream: StreamId) -> bool {
        let Some(receiver) = self.streams.get_mut(&stream) else { return false };
        let ended = receiver.read_end();
        if ended && !receiver.ack_owed {
            self.streams.remove(&stream);
        }
        ended
    }

    /// Returns the next piece of any readable stream.
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

    /// Drops a stream and the data it holds.
    pub fn forget(&mut self, stream: StreamId) {
        if let Some(receiver) = self.streams.remove(&stream) {
            self.buffered -= receiver.buffered();
        }
    }

    /// True while data of the stream is accepted.
    pub fn knows(&self, stream: StreamId) -> bool {
        self.streams.contains_key(&stream)
    }

    /// Handles the loss of a carrier. Feedback sent on it may be lost, so all of it is sent again.
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

    /// Schedules an acknowledgement of the stream, for example because the peer opened it.
    pub fn owe_ack(&mut self, stream: StreamId, now: Instant) {
        let Some(receiver) = self.streams.get_mut(&stream) else { return };
        if !receiver.ack_owed {
            receiver.ack_owed = true;
            self.acks.push_back(stream);
            self.acks_due.get_or_insert(now.saturating_add(self.ack_delay));
        }
        // Acknowledges at once after a quarter of the window, so that the sender's buffer does not fill up.
        if receiver.received() - receiver.told >= self.window / 4 {
            self.acks_due = Some(now);
        }
    }

    /// Returns the next feedback frame, for any ordered carrier. Credits are returned at once. Acknowledgements are
    /// returned when they are due, or earlier if another frame goes out anyway (`along`).
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
        // If one acknowledgement is due, all of them are sent.
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

    /// Time at which [`poll_feedback`](Self::poll_feedback) will return a frame.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if !self.credits.is_empty() {
            return Some(Instant::ZERO);
        }
        self.acks_due
    }

    /// Number of bytes received in order of each stream. A peer needs them to resume.
    pub fn positions(&self) -> impl Iterator<Item = (StreamId, u64)> + '_ {
        self.streams.iter().map(|(stream, receiver)| (*stream, receiver.received()))
    }

    /// Payload bytes held.
    pub const fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Number of known streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Counters so far.
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
