//! The sending half: the application writes to streams, and each carrier asks for the next frame to send. The
//! scheduler picks the stream, `SendStream` picks the frame. Left out: congestion control and loss
//! recovery, which the carriers have.
//!
//! Inputs: [`open`](Mux::open), [`accept`](Mux::accept), [`write`](Mux::write), [`finish`](Mux::finish),
//! [`reset`](Mux::reset), `handle_*`, [`carrier_up`](Mux::carrier_up) and [`carrier_down`](Mux::carrier_down). Outputs:
//! [`poll_frame`](Mux::poll_frame) for each carrier with room, [`poll_writable`](Mux::poll_writable),
//! [`poll_timeout`](Mux::poll_timeout).

mod carrier;
mod early;

use crate::body::Body;
use crate::config::{Assignment, CarrierId, CarrierKind, MAX_CARRIERS, MuxConfig, StreamId};
use crate::error::ProtocolError;
use crate::frame::{Frame, MAX_HEADER};
use crate::ledger::Ledger;
use crate::send::{Next, SMALLEST_CUT, SendStream, Slot};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use carrier::Carrier;
use gamelane_core::{Duration, Instant};

/// Smallest room for which a carrier gets a frame, in bytes; less is not worth the header. The metadata of `Open` is
/// never split and may need more room.
pub const SMALLEST_BUDGET: usize = 160;
const _: () = assert!(SMALLEST_CUT + MAX_HEADER <= SMALLEST_BUDGET);

/// A refused write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The buffer of the stream is full. [`Mux::poll_writable`] reports when it has room again.
    Full,
    /// The stream was never opened, has ended or has failed.
    Closed,
}

/// Counters of the sending half. Bytes are payload bytes unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MuxCounters {
    /// Data frames sent, repeats included.
    pub data_frames: u64,
    /// Payload of these frames.
    pub payload_bytes: u64,
    /// All bytes that this half gave to carriers, headers included.
    pub wire_bytes: u64,
    /// Early repeats sent.
    pub repeats: u64,
    /// Payload of the early repeats.
    pub repeated_bytes: u64,
    /// Payload to be sent again because its carrier was lost.
    pub requeued_bytes: u64,
}

/// The sending half of one end. See the [module](self).
#[derive(Debug)]
pub struct Mux<B> {
    config: MuxConfig,
    credit: u64,
    streams: BTreeMap<StreamId, SendStream<B>>,
    carriers: Vec<Carrier>,
    ledger: Ledger,
    rtt: Option<Duration>,
    turn: u8,
    writable: VecDeque<StreamId>,
    buffered: u64,
    counters: MuxCounters,
}

impl<B: Body> Mux<B> {
    /// A sending half without streams, all carriers down.
    ///
    /// # Panics
    /// If `config.carriers` is not 1 to [`MAX_CARRIERS`].
    pub fn new(config: MuxConfig) -> Self {
        assert!(
            (1..=MAX_CARRIERS).contains(&usize::from(config.carriers)),
            "carriers must be 1 to {MAX_CARRIERS}, got {}",
            config.carriers
        );
        Self {
            credit: config.initial_credit,
            streams: BTreeMap::new(),
            carriers: (0..config.carriers).map(|_| Carrier::new()).collect(),
            ledger: Ledger::default(),
            rtt: None,
            turn: 0,
            writable: VecDeque::new(),
            buffered: 0,
            counters: MuxCounters::default(),
            config,
        }
    }

    /// Opens a stream. The peer gets `metadata` with the `Open` frame, at most
    /// [`MAX_METADATA`](crate::frame::MAX_METADATA) bytes.
    ///
    /// # Panics
    /// If the stream exists already.
    pub fn open(&mut self, stream: StreamId, metadata: B, now: Instant) {
        let was = self.streams.insert(stream, SendStream::new(Some(metadata), self.credit));
        assert!(was.is_none(), "stream ids are used once");
        self.activate(stream, 0, now);
    }

    /// Adds the sending half of a stream that the peer opened.
    pub fn accept(&mut self, stream: StreamId) {
        self.streams.insert(stream, SendStream::new(None, self.credit));
    }

    /// Appends `body` to a stream, either all of it or nothing.
    ///
    /// # Errors
    /// [`WriteError::Full`] if the buffer has no room for all of it, [`WriteError::Closed`] if the stream takes no
    /// data.
    pub fn write(&mut self, stream: StreamId, body: B, now: Instant) -> Result<(), WriteError> {
        let len = body.len() as u64;
        let sender = self.streams.get_mut(&stream).ok_or(WriteError::Closed)?;
        if sender.is_ended() {
            return Err(WriteError::Closed);
        }
        if !sender.takes_more() || sender.buffered() + len > self.config.buffer {
            sender.full = true;
            return Err(WriteError::Full);
        }
        if len > 0 {
            sender.write(body);
            self.buffered += len;
            self.activate(stream, len, now);
        }
        Ok(())
    }

    /// Number of bytes that [`write`](Self::write) accepts now. If 0, wait for [`poll_writable`](Self::poll_writable).
    pub fn writable(&mut self, stream: StreamId) -> u64 {
        let Some(sender) = self.streams.get_mut(&stream) else { return 0 };
        let room = self.config.buffer.saturating_sub(sender.buffered());
        let room = if sender.takes_more() { room } else { 0 };
        sender.full |= room == 0;
        room
    }

    /// Returns a stream that refused a write and has room again.
    pub fn poll_writable(&mut self) -> Option<StreamId> {
        self.writable.pop_front()
    }

    /// Ends the stream after the data written so far.
    pub fn finish(&mut self, stream: StreamId, now: Instant) {
        if let Some(sender) = self.streams.get_mut(&stream) {
            sender.finish();
            self.activate(stream, 0, now);
        }
    }

    /// Aborts the stream and drops its waiting data, even if all data and the end were acknowledged. The empty stream
    /// is kept until the peer confirms.
    pub fn reset(&mut self, stream: StreamId, code: u64, now: Instant) {
        let credit = self.credit;
        let sender = self.streams.entry(stream).or_insert_with(|| SendStream::new(None, credit));
        self.buffered -= sender.reset(code);
        self.activate(stream, 0, now);
    }

    /// Drops the stream without telling the peer.
    pub fn forget(&mut self, stream: StreamId) {
        if let Some(sender) = self.streams.remove(&stream) {
            self.buffered -= sender.buffered();
        }
    }

    /// Handles an acknowledgement: the peer has all bytes below `offset`. Returns true if this completes the sending
    /// half; the stream is then forgotten.
    ///
    /// # Errors
    /// [`ProtocolError::AckBeyondSent`] if `offset` was never sent.
    pub fn handle_ack(&mut self, stream: StreamId, offset: u64, now: Instant) -> Result<bool, ProtocolError> {
        let Some(sender) = self.streams.get_mut(&stream) else { return Ok(false) };
        if sender.is_reset() {
            return Ok(false);
        }
        let freed = sender.acknowledge(offset).ok_or(ProtocolError::AckBeyondSent)?;
        self.buffered -= freed;
        let finished = sender.is_finished_by(offset);
        let news = sender.confirm();
        if sender.full
            && sender.takes_more()
            && self.config.buffer - sender.buffered() >= self.config.buffer / 2
        {
            sender.full = false;
            self.writable.push_back(stream);
        }
        if finished {
            self.streams.remove(&stream);
        } else if news {
            self.activate(stream, 0, now);
        }
        Ok(finished)
    }

    /// Handles a credit: the peer accepts bytes of the stream up to offset `limit`.
    pub fn handle_credit(&mut self, stream: StreamId, limit: u64, now: Instant) {
        if let Some(sender) = self.streams.get_mut(&stream) {
            let news = sender.confirm();
            if sender.credit(limit) || news {
                self.activate(stream, 0, now);
            }
        }
    }

    /// Handles `Gone`: the peer wants no more of the stream. Returns true if the stream was known.
    pub fn handle_gone(&mut self, stream: StreamId) -> bool {
        let known = self.streams.contains_key(&stream);
        self.forget(stream);
        known
    }

    /// Sets the bytes of each stream that the peer accepts before its first credit, for existing and new streams. The
    /// peer's hello announces it.
    pub fn set_initial_credit(&mut self, bytes: u64) {
        self.credit = bytes;
        for sender in self.streams.values_mut() {
            sender.credit(bytes);
        }
    }

    /// Sets the round trip to the peer, for early repeats.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// Sets the bytes that the carrier's connection still has to send, for [`Assignment::LeastBacklog`].
    pub fn set_backlog(&mut self, carrier: CarrierId, bytes: u64) {
        self.carriers[carrier.index()].reported = bytes;
    }

    /// Marks the carrier as usable.
    pub fn carrier_up(&mut self, carrier: CarrierId, kind: CarrierKind, now: Instant) {
        let it = &mut self.carriers[carrier.index()];
        it.kind = kind;
        it.up = true;
        if kind == CarrierKind::Ordered {
            // What the peer confirmed on the carrier's last connection, before it knew of the loss, may not have arrived.
            self.streams.values_mut().for_each(SendStream::repeat_end);
            self.activate_all(now);
        }
    }

    /// Handles the loss of a carrier. Data sent on it and not acknowledged waits again, for another carrier or for its
    /// return.
    pub fn carrier_down(&mut self, carrier: CarrierId, now: Instant) {
        let it = &mut self.carriers[carrier.index()];
        it.take_down();
        for stream in it.turns.drain() {
            if let Some(sender) = self.streams.get_mut(&stream) {
                sender.place.carrier = None;
            }
        }
        for sender in self.streams.values_mut() {
            self.counters.requeued_bytes += sender.lose(carrier);
        }
        self.activate_all(now);
    }

    /// Returns the next frame for a carrier that has room for `budget` bytes. Call it until it returns `None`: there is
    /// no frame, frames are held back to share a packet, or `budget` is below [`SMALLEST_BUDGET`].
    pub fn poll_frame(&mut self, carrier: CarrierId, budget: usize, now: Instant) -> Option<Frame<B>> {
        let it = &self.carriers[carrier.index()];
        if !it.up || budget < SMALLEST_BUDGET {
            return None;
        }
        let slot = Slot {
            carrier,
            kind: it.kind,
            budget,
            max_payload: self.config.max_payload as usize,
            retain: self.config.retain,
        };
        let frame = match self.next_repeat(slot, now) {
            Some(frame) => frame,
            None if self.carriers[carrier.index()].is_ready(self.config.coalescing, now) => {
                self.next_turn(slot, now)?
            }
            None => return None,
        };
        self.counters.wire_bytes += frame.wire_len() as u64;
        if let Frame::Data { body, .. } = &frame {
            self.counters.data_frames += 1;
            self.counters.payload_bytes += body.len() as u64;
        }
        Some(frame)
    }

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout) and then [`poll_frame`](Self::poll_frame).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let coalescing = self.config.coalescing;
        let batches = self.carriers.iter().filter_map(|it| it.release_at(coalescing?));
        batches.chain(self.repeat_after().and_then(|after| self.ledger.due(after))).min()
    }

    /// Bytes waiting plus bytes retained.
    pub const fn buffered(&self) -> u64 {
        self.buffered
    }

    /// True while the sending half of the stream is kept.
    pub fn knows(&self, stream: StreamId) -> bool {
        self.streams.contains_key(&stream)
    }

    /// True if the peer has confirmed the stream, or the stream is unknown.
    pub fn is_confirmed(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_none_or(SendStream::is_confirmed)
    }

    /// Number of known streams.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Counters so far.
    pub const fn counters(&self) -> MuxCounters {
        self.counters
    }

    fn next_turn(&mut self, slot: Slot, now: Instant) -> Option<Frame<B>> {
        let it = &mut self.carriers[slot.carrier.index()];
        while let Some(stream) = it.turns.first() {
            let Some(sender) = self.streams.get_mut(&stream) else {
                it.turns.remove_first();
                continue;
            };
            if sender.place.deficit <= 0 {
                sender.place.deficit += i64::from(self.config.quantum);
                it.turns.rotate();
                continue;
            }
            match sender.next_frame(stream, slot) {
                Next::NoRoom => return None,
                Next::Nothing => {
                    if it.turns.exhaust() {
                        sender.place.carrier = None;
                    }
                }
                Next::Frame(frame) => {
                    sender.place.deficit -= frame.wire_len() as i64;
                    it.waiting = it.waiting.saturating_sub(frame.body().map_or(0, Body::len) as u64);
                    if !slot.retain {
                        self.release(stream, &frame);
                    }
                    self.watch(stream, &frame, slot.carrier, now);
                    return Some(frame);
                }
            }
        }
        it.rest();
        None
    }

    /// Frees the sent data if it is not retained.
    fn release(&mut self, stream: StreamId, frame: &Frame<B>) {
        match frame {
            Frame::Data { body, fin, .. } => {
                self.buffered -= body.len() as u64;
                let Some(sender) = self.streams.get_mut(&stream) else { return };
                if *fin {
                    self.streams.remove(&stream);
                } else if sender.full && sender.buffered() <= self.config.buffer / 2 {
                    sender.full = false;
                    self.writable.push_back(stream);
                }
            }
            Frame::Reset { .. } => {
                self.streams.remove(&stream);
            }
            _ => {}
        }
    }

    fn activate_all(&mut self, now: Instant) {
        let idle: Vec<(StreamId, u64)> = self
            .streams
            .iter_mut()
            .filter(|(_, sender)| sender.place.carrier.is_none())
            .map(|(stream, sender)| (*stream, sender.waiting()))
            .collect();
        for (stream, bytes) in idle {
            self.activate(stream, bytes, now);
        }
    }

    /// Adds the stream to its carrier's schedule if it has something to send. `bytes` of its payload are new.
    fn activate(&mut self, stream: StreamId, bytes: u64, now: Instant) {
        let Some(sender) = self.streams.get_mut(&stream) else { return };
        if !sender.has_work() {
            return;
        }
        let (listed, bound) = (sender.place.carrier, sender.bound_to());
        let Some(carrier) = listed.or_else(|| self.assign(stream, bound)) else { return };
        let it = &mut self.carriers[carrier.index()];
        if listed.is_none() {
            it.turns.begin(stream);
            if let Some(sender) = self.streams.get_mut(&stream) {
                sender.place.carrier = Some(carrier);
                sender.place.deficit = i64::from(self.config.quantum);
            }
        }
        it.add(bytes, now);
    }

    fn assign(&mut self, stream: StreamId, bound: Option<CarrierId>) -> Option<CarrierId> {
        let usable = |carrier: &CarrierId| {
            let it = &self.carriers[carrier.index()];
            it.up && it.kind == CarrierKind::Ordered
        };
        if let Some(carrier) = bound {
            return Some(carrier).filter(usable);
        }
        let count = u64::from(self.config.carriers);
        let from = |first: u64| (0..count).map(move |step| CarrierId(((first + step) % count) as u8));
        match self.config.assignment {
            Assignment::Pinned => from(stream.0).find(usable),
            Assignment::LeastBacklog => {
                let least = from(u64::from(self.turn)).filter(usable).min_by_key(|carrier| {
                    let it = &self.carriers[carrier.index()];
                    it.waiting + it.reported
                })?;
                self.turn = (least.0 + 1) % self.config.carriers;
                Some(least)
            }
        }
    }
}
