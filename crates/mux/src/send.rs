//! The sending state of one stream: data that waits, that was sent, that was acknowledged. Data is kept until it is
//! acknowledged, in the pieces it was sent in, so a lost carrier costs time but no data. The choice of stream and
//! carrier is left to [`Mux`](crate::Mux).

use crate::body::Body;
use crate::config::{CarrierId, CarrierKind, MAX_CARRIERS, MAX_PIECES, StreamId};
use crate::frame::{Frame, Position};
use crate::schedule::Place;
use crate::varint;
use alloc::collections::VecDeque;

/// Smallest piece that is cut off a larger one; with less room the stream waits. With its header it fits the smallest
/// budget.
pub(crate) const SMALLEST_CUT: usize = 128;

#[derive(Debug)]
struct Piece<B> {
    offset: u64,
    body: B,
    state: State,
}

impl<B: Body> Piece<B> {
    fn end(&self) -> u64 {
        self.offset + self.body.len() as u64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Sent { carrier: CarrierId, repeats: u8 },
}

#[derive(Debug)]
enum Opening<B> {
    Waiting(B),
    Sent(B, CarrierId),
    /// The peer knows the stream.
    Confirmed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Open,
    Waiting,
    Sent,
    /// To be sent again, although it may have arrived.
    Lost,
}

impl Ending {
    const fn is_waiting(self) -> bool {
        matches!(self, Self::Waiting | Self::Lost)
    }

    const fn was_sent(self) -> bool {
        matches!(self, Self::Sent | Self::Lost)
    }
}

#[derive(Clone, Copy, Debug)]
struct Resetting {
    code: u64,
    sent: bool,
}

/// What a stream has to send on a carrier.
pub(crate) enum Next<B> {
    Frame(Frame<B>),
    /// Nothing until more is written or credited.
    Nothing,
    /// A frame that does not fit.
    NoRoom,
}

/// The carrier of the next frame, and the limits of that frame.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub carrier: CarrierId,
    pub kind: CarrierKind,
    pub budget: usize,
    pub max_payload: usize,
    pub retain: bool,
}

#[derive(Debug)]
pub(crate) struct SendStream<B> {
    opening: Opening<B>,
    pieces: VecDeque<Piece<B>>,
    /// No piece before this index is waiting.
    first_waiting: usize,
    acked: u64,
    end: u64,
    limit: u64,
    ending: Ending,
    reset: Option<Resetting>,
    /// Where the last data frame on each carrier ended.
    cursors: [u64; MAX_CARRIERS],
    /// Its state in the schedule.
    pub place: Place,
    /// A write was refused, or the caller was told that there is no room.
    pub full: bool,
}

impl<B: Body> SendStream<B> {
    /// Opens a stream with `metadata`, or accepts one that the peer opened.
    pub(crate) fn new(metadata: Option<B>, limit: u64) -> Self {
        Self {
            opening: metadata.map_or(Opening::Confirmed, Opening::Waiting),
            pieces: VecDeque::new(),
            first_waiting: 0,
            acked: 0,
            end: 0,
            limit,
            ending: Ending::Open,
            reset: None,
            cursors: [0; MAX_CARRIERS],
            place: Place::default(),
            full: false,
        }
    }

    /// Bytes waiting plus bytes retained.
    pub(crate) const fn buffered(&self) -> u64 {
        self.end - self.acked
    }

    pub(crate) fn takes_more(&self) -> bool {
        self.ending == Ending::Open && self.reset.is_none() && self.pieces.len() < MAX_PIECES
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ending != Ending::Open || self.reset.is_some()
    }

    /// Appends `body`. Call it only if [`takes_more`](Self::takes_more).
    pub(crate) fn write(&mut self, body: B) {
        let offset = self.end;
        self.end += body.len() as u64;
        self.pieces.push_back(Piece { offset, body, state: State::Waiting });
    }

    pub(crate) fn finish(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Waiting;
        }
    }

    /// Drops all data; returns the number of bytes freed.
    pub(crate) fn reset(&mut self, code: u64) -> u64 {
        let freed = self.buffered();
        self.pieces.clear();
        self.first_waiting = 0;
        self.acked = self.end;
        if self.reset.is_none() {
            self.reset = Some(Resetting { code, sent: false });
        }
        freed
    }

    pub(crate) const fn is_reset(&self) -> bool {
        self.reset.is_some()
    }

    /// The carrier of the `Open` frame. Until the peer has answered, the stream may use no other.
    pub(crate) const fn bound_to(&self) -> Option<CarrierId> {
        match self.opening {
            Opening::Sent(_, carrier) => Some(carrier),
            _ => None,
        }
    }

    /// Notes that the peer knows the stream. Returns true if that was not known before.
    pub(crate) fn confirm(&mut self) -> bool {
        let news = matches!(self.opening, Opening::Sent(..));
        if news {
            self.opening = Opening::Confirmed;
        }
        news
    }

    pub(crate) const fn is_confirmed(&self) -> bool {
        matches!(self.opening, Opening::Confirmed)
    }

    /// Raises the limit. Returns true if more may be sent than before.
    pub(crate) fn credit(&mut self, limit: u64) -> bool {
        let more = limit > self.limit;
        self.limit = self.limit.max(limit);
        more
    }

    /// Handles an acknowledgement of all bytes below `offset`. Returns the bytes freed, or `None` if they were never
    /// sent.
    pub(crate) fn acknowledge(&mut self, offset: u64) -> Option<u64> {
        let fin = u64::from(self.ending.was_sent());
        if offset > self.end + fin {
            return None;
        }
        let was = self.acked;
        self.acked = was.max(offset.min(self.end));
        while let Some(piece) = self.pieces.front_mut() {
            if piece.end() > self.acked {
                if piece.offset < self.acked {
                    let known = usize::try_from(self.acked - piece.offset).expect("within a piece");
                    drop(piece.body.split_to(known));
                    piece.offset = self.acked;
                }
                break;
            }
            self.pieces.pop_front();
            self.first_waiting = self.first_waiting.saturating_sub(1);
        }
        Some(self.acked - was)
    }

    /// True if an acknowledgement of `offset` covers the end of the stream too.
    pub(crate) fn is_finished_by(&self, offset: u64) -> bool {
        self.ending.was_sent() && offset > self.end
    }

    /// True if a carrier can get a frame now.
    pub(crate) fn has_work(&mut self) -> bool {
        if let Some(reset) = self.reset {
            return !reset.sent;
        }
        if matches!(self.opening, Opening::Waiting(_)) {
            return true;
        }
        match self.waiting_piece() {
            Some(index) => self.pieces[index].offset < self.limit,
            None => self.ending.is_waiting(),
        }
    }

    /// Payload that waits, in bytes. It walks over all pieces, so call it when a carrier comes up, not per frame.
    pub(crate) fn waiting(&self) -> u64 {
        self.pieces
            .iter()
            .filter(|piece| piece.state == State::Waiting)
            .map(|piece| piece.body.len() as u64)
            .sum()
    }

    fn waiting_piece(&mut self) -> Option<usize> {
        while self.pieces.get(self.first_waiting)?.state != State::Waiting {
            self.first_waiting += 1;
        }
        Some(self.first_waiting)
    }

    pub(crate) fn next_frame(&mut self, stream: StreamId, slot: Slot) -> Next<B> {
        if let Some(reset) = &mut self.reset {
            if reset.sent {
                return Next::Nothing;
            }
            reset.sent = true;
            return Next::Frame(Frame::Reset { stream, code: reset.code });
        }
        if let Opening::Waiting(metadata) = &self.opening {
            let frame = Frame::Open { stream, metadata: metadata.clone() };
            if frame.wire_len() > slot.budget {
                return Next::NoRoom;
            }
            self.opening =
                if slot.retain { Opening::Sent(metadata.clone(), slot.carrier) } else { Opening::Confirmed };
            return Next::Frame(frame);
        }
        match self.waiting_piece() {
            Some(index) => self.data(stream, index, slot),
            None if self.ending.is_waiting() => {
                self.ending = Ending::Sent;
                let position = self.place(self.end, 0, slot);
                Next::Frame(Frame::Data { stream, position, fin: true, body: B::default() })
            }
            None => Next::Nothing,
        }
    }

    fn data(&mut self, stream: StreamId, index: usize, slot: Slot) -> Next<B> {
        let piece = &mut self.pieces[index];
        let (offset, whole) = (piece.offset, piece.body.len());
        let credit = usize::try_from(self.limit.saturating_sub(offset)).unwrap_or(usize::MAX);
        if credit == 0 {
            return Next::Nothing;
        }
        let room = slot.budget.saturating_sub(header_len(stream, offset, whole));
        if room < whole.min(SMALLEST_CUT) {
            return Next::NoRoom;
        }
        let take = whole.min(credit).min(slot.max_payload).min(room);
        if take < whole {
            let head = piece.body.split_to(take);
            piece.offset += take as u64;
            self.pieces.insert(index, Piece { offset, body: head, state: State::Waiting });
        }
        let body = if slot.retain {
            let piece = &mut self.pieces[index];
            piece.state = State::Sent { carrier: slot.carrier, repeats: 0 };
            self.first_waiting = index + 1;
            piece.body.clone()
        } else {
            let piece = self.pieces.pop_front().expect("not retained, so what waits is first");
            self.acked = offset + take as u64;
            piece.body
        };
        let position = self.place(offset, take, slot);
        // Later pieces may be on other carriers. Then the end follows in a frame of its own.
        let fin = self.ending.is_waiting() && offset + take as u64 == self.end;
        if fin {
            self.ending = Ending::Sent;
        }
        Next::Frame(Frame::Data { stream, position, fin, body })
    }

    /// Sends the piece that begins at `offset` again, if it is still unacknowledged and fits.
    pub(crate) fn repeat(&mut self, stream: StreamId, offset: u64, slot: Slot) -> Option<Frame<B>> {
        let index = self.sent_at(offset)?;
        let piece = &mut self.pieces[index];
        if piece.body.len() + header_len(stream, offset, piece.body.len()) > slot.budget {
            return None;
        }
        if let State::Sent { repeats, .. } = &mut piece.state {
            *repeats = repeats.saturating_add(1);
        }
        let body = piece.body.clone();
        let position = self.place(offset, body.len(), slot);
        Some(Frame::Data { stream, position, fin: false, body })
    }

    /// Carrier and number of repeats of the unacknowledged piece sent at `offset`.
    pub(crate) fn unacknowledged(&self, offset: u64) -> Option<(CarrierId, u8)> {
        match self.pieces[self.sent_at(offset)?].state {
            State::Sent { carrier, repeats } => Some((carrier, repeats)),
            State::Waiting => None,
        }
    }

    /// Offset at which the last data frame on `carrier` ended.
    pub(crate) const fn cursor(&self, carrier: CarrierId) -> u64 {
        self.cursors[carrier.0 as usize]
    }

    fn sent_at(&self, offset: u64) -> Option<usize> {
        let index = self.pieces.binary_search_by_key(&offset, |piece| piece.offset).ok()?;
        matches!(self.pieces[index].state, State::Sent { .. }).then_some(index)
    }

    /// Handles the loss of `carrier`: data sent on it and not acknowledged waits again, and so does an end or reset sent on any carrier.
    /// Returns the payload in bytes.
    pub(crate) fn lose(&mut self, carrier: CarrierId) -> u64 {
        self.cursors[carrier.index()] = 0;
        let mut lost = 0;
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            if matches!(piece.state, State::Sent { carrier: on, .. } if on == carrier) {
                piece.state = State::Waiting;
                self.first_waiting = self.first_waiting.min(index);
                lost += piece.body.len() as u64;
            }
        }
        self.repeat_end();
        if let Opening::Sent(metadata, on) = &self.opening
            && *on == carrier
        {
            self.opening = Opening::Waiting(metadata.clone());
        }
        lost
    }

    /// Sends an end or reset again that was sent on any carrier. The peer forgets a stream once it has confirmed the end, on any
    /// carrier, so if that confirmation is lost, only the end or reset itself makes the peer repeat it.
    pub(crate) fn repeat_end(&mut self) {
        if self.ending == Ending::Sent {
            self.ending = Ending::Lost;
        }
        if let Some(reset) = &mut self.reset {
            reset.sent = false;
        }
    }

    /// Returns the position to encode in a frame that is sent now. The cursor moves with every data frame, as the
    /// peer's does.
    fn place(&mut self, offset: u64, len: usize, slot: Slot) -> Position {
        let cursor = &mut self.cursors[slot.carrier.index()];
        let continues = slot.kind == CarrierKind::Ordered && *cursor == offset;
        *cursor = offset + len as u64;
        if continues { Position::Continues } else { Position::At(offset) }
    }
}

/// Maximum header length: with an explicit offset.
fn header_len(stream: StreamId, offset: u64, len: usize) -> usize {
    1 + varint::len(stream.0) + varint::len(offset) + varint::len(len as u64)
}
