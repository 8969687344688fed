//! One end of a pair: both halves, the handshake of each carrier, keep-alive, and feedback to the peer. The near end
//! opens streams and the far end accepts them; otherwise both are the same. Sockets are left out.
//!
//! Both ends begin a carrier with a [`Hello`](crate::Hello) and one acknowledgement per stream, which tells how far the stream has
//! arrived. The carrier is used only after that, so a resumed session does not repeat data that has arrived. If no
//! carrier is up for [`SessionConfig::resume_window`], the session expires.
//!
//! Inputs: [`carrier_connected`](Session::carrier_connected), [`handle_frame`](Session::handle_frame),
//! [`carrier_down`](Session::carrier_down), [`handle_timeout`](Session::handle_timeout), and the streams' calls. Outputs:
//! [`poll_frame`](Session::poll_frame), [`poll_event`](Session::poll_event), [`poll_timeout`](Session::poll_timeout).

mod handshake;
mod incoming;
mod opened;

use crate::body::Body;
use crate::config::{CarrierId, CarrierKind, MuxConfig, StreamId};
use crate::demux::Demux;
use crate::frame::Frame;
use crate::mux::{Mux, SMALLEST_BUDGET, WriteError};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use gamelane_core::{Duration, Instant};
use opened::Opened;

/// Reset code: the far end could not reach the server.
pub const UNREACHABLE: u64 = 1;
/// Reset code: too many streams, or no memory for another one.
pub const LIMIT: u64 = 2;
/// Reset code: the client or the server aborted its connection.
pub const ABORTED: u64 = 3;
/// Reset code: the stream was idle for too long.
pub const IDLE: u64 = 4;
/// Reset code: the proxy is shutting down.
pub const SHUTDOWN: u64 = 5;

/// Why [`Session::open`] opens no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// [`SessionConfig::max_streams`] is reached. Streams that were reset count until the peer confirms that, because both ends keep
    /// something of them until then.
    Streams,
    /// [`SessionConfig::max_buffered`] is exceeded.
    Memory,
    /// The session has expired.
    Expired,
}

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Next to the clients; opens streams.
    Near,
    /// Next to the servers; accepts streams.
    Far,
}

/// Settings of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// Which end this is.
    pub role: Role,
    /// Settings of the sending half.
    pub mux: MuxConfig,
    /// Bytes of each stream that are accepted before they are read.
    pub window: u64,
    /// How long an acknowledgement waits for other frames to share a packet with.
    pub ack_delay: Duration,
    /// Idle time after which a ping is sent on a carrier.
    pub keep_alive: Duration,
    /// Silence of the peer after which a carrier counts as lost.
    pub silence: Duration,
    /// Time without any carrier after which the session expires.
    pub resume_window: Duration,
    /// Maximum number of streams. New streams beyond it are refused.
    pub max_streams: usize,
    /// Maximum number of refused streams whose reset the peer has not confirmed, and of confirmations that it has not taken. A peer
    /// that leaves more ends the session.
    pub max_owed: usize,
    /// Maximum bytes waiting, retained and unread. New streams are refused while there are more.
    pub max_buffered: u64,
}

/// Events for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<B> {
    /// The peer has opened a stream.
    Opened {
        /// The new stream.
        stream: StreamId,
        /// The metadata that the peer sent with it.
        metadata: B,
    },
    /// The stream has data to read, or has ended.
    Readable(StreamId),
    /// The stream refused a write and has room again.
    Writable(StreamId),
    /// The peer has all written data and the end.
    Finished(StreamId),
    /// The peer aborted the stream.
    Reset {
        /// The aborted stream.
        stream: StreamId,
        /// The reason, for example [`ABORTED`].
        code: u64,
    },
    /// The handshake of the carrier is complete; it is in use.
    CarrierReady(CarrierId),
    /// The carrier was silent for too long. [`Session::carrier_down`] was already called; close the connection.
    CarrierSilent(CarrierId),
    /// The peer accepts no new streams.
    Draining,
    /// The peer does not know this session, or it could not be resumed in time. All streams are lost.
    Expired,
}

/// One end of a pair. See the [module](self).
#[derive(Debug)]
pub struct Session<B> {
    config: SessionConfig,
    id: [u8; 16],
    mux: Mux<B>,
    demux: Demux<B>,
    carriers: Vec<Carrier<B>>,
    opened: Opened,
    /// Streams whose end is to be confirmed.
    gone: BTreeSet<StreamId>,
    events: VecDeque<Event<B>>,
    /// Time since which no carrier is up; `None` while one is up.
    dark_since: Option<Instant>,
    greeted: bool,
    expired: bool,
}

#[derive(Debug)]
struct Carrier<B> {
    phase: Phase,
    kind: CarrierKind,
    first: VecDeque<Frame<B>>,
    sent_at: Instant,
    heard_at: Instant,
    rtt: Option<Duration>,
    /// A frame was sent since the last pause, so acknowledgements can share its packet.
    along: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    /// Waiting for the peer's hello. `resume` is the flag of our hello: the session had been up before.
    Greeting {
        resume: bool,
    },
    /// Waiting for this many positions.
    Positions(u64),
    Up,
}

impl<B: Body> Session<B> {
    /// A session at its start: a near end draws `id`, a far end takes it from the peer's hello.
    pub fn new(id: [u8; 16], config: SessionConfig, now: Instant) -> Self {
        let carrier = || Carrier {
            phase: Phase::Down,
            kind: CarrierKind::Ordered,
            first: VecDeque::new(),
            sent_at: now,
            heard_at: now,
            rtt: None,
            along: false,
        };
        Self {
            id,
            // The peer's hello announces its window, so there is no credit before.
            mux: Mux::new(MuxConfig { initial_credit: 0, ..config.mux }),
            demux: Demux::new(config.window, config.ack_delay),
            carriers: (0..config.mux.carriers).map(|_| carrier()).collect(),
            opened: Opened::default(),
            gone: BTreeSet::new(),
            events: VecDeque::new(),
            dark_since: Some(now),
            greeted: false,
            expired: false,
            config,
        }
    }

    /// Handles the loss of a carrier's connection.
    pub fn carrier_down(&mut self, carrier: CarrierId, now: Instant) {
        let it = &mut self.carriers[carrier.index()];
        if it.phase == Phase::Down {
            return;
        }
        it.phase = Phase::Down;
        it.first.clear();
        it.rtt = None;
        self.mux.carrier_down(carrier, now);
        self.demux.carrier_down(carrier, now);
        if self.carriers_up() == 0 {
            self.dark_since.get_or_insert(now);
        }
    }

    /// Returns the next frame for a carrier that has room for `budget` bytes.
    pub fn poll_frame(&mut self, carrier: CarrierId, budget: usize, now: Instant) -> Option<Frame<B>> {
        if budget < SMALLEST_BUDGET {
            return None;
        }
        let frame = self.next_frame(carrier, budget, now);
        let it = &mut self.carriers[carrier.index()];
        it.along = frame.is_some();
        if frame.is_some() {
            it.sent_at = now;
        }
        frame
    }

    fn next_frame(&mut self, carrier: CarrierId, budget: usize, now: Instant) -> Option<Frame<B>> {
        let it = &mut self.carriers[carrier.index()];
        if let Some(frame) = it.first.pop_front() {
            return Some(frame);
        }
        if it.phase != Phase::Up {
            return None;
        }
        if it.kind == CarrierKind::Ordered {
            if let Some(stream) = self.gone.pop_first() {
                return Some(Frame::Gone { stream });
            }
            if let Some(frame) = self.demux.poll_feedback(it.along, now) {
                return Some(frame);
            }
        }
        self.mux.poll_frame(carrier, budget, now)
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event<B>> {
        self.events.pop_front().or_else(|| self.mux.poll_writable().map(Event::Writable))
    }

    /// Time at which to call [`handle_timeout`](Self::handle_timeout) and then [`poll_frame`](Self::poll_frame) for
    /// each carrier.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.expired {
            return None;
        }
        let dark = self.dark_since.map(|since| since.saturating_add(self.config.resume_window));
        let feedback = if self.carriers_up() > 0 { self.demux.poll_timeout() } else { None };
        let carriers = self.carriers.iter().filter_map(|it| match it.phase {
            Phase::Down => None,
            _ if it.kind == CarrierKind::Datagram => None,
            Phase::Up => Some(
                it.sent_at
                    .saturating_add(self.config.keep_alive)
                    .min(it.heard_at.saturating_add(self.config.silence)),
            ),
            _ => Some(it.heard_at.saturating_add(self.config.silence)),
        });
        carriers.chain(dark).chain(feedback).chain(self.mux.poll_timeout()).min()
    }

    /// Handles keep-alive, silent carriers, expiry and early repeats.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.expired {
            return;
        }
        self.mux.handle_timeout(now);
        for index in 0..self.config.mux.carriers {
            let carrier = CarrierId(index);
            let it = &mut self.carriers[carrier.index()];
            if it.phase == Phase::Down || it.kind == CarrierKind::Datagram {
                continue;
            }
            if it.heard_at.saturating_add(self.config.silence) <= now {
                self.carrier_down(carrier, now);
                self.events.push_back(Event::CarrierSilent(carrier));
            } else if it.phase == Phase::Up
                && it.first.is_empty()
                && it.sent_at.saturating_add(self.config.keep_alive) <= now
            {
                it.first.push_back(Frame::Ping { token: now.as_nanos() & crate::varint::MAX });
            }
        }
        if self.dark_since.is_some_and(|since| since.saturating_add(self.config.resume_window) <= now) {
            self.expire();
        }
    }

    /// Opens a new stream.
    ///
    /// # Errors
    /// There are too many streams, or too many bytes are buffered.
    pub fn open(&mut self, metadata: B, now: Instant) -> Result<StreamId, NoRoom> {
        self.room()?;
        let stream = StreamId(self.opened.next);
        self.opened.next += 1;
        self.mux.open(stream, metadata, now);
        self.demux.expect(stream);
        Ok(stream)
    }

    /// See [`Mux::write`].
    pub fn write(&mut self, stream: StreamId, body: B, now: Instant) -> Result<(), WriteError> {
        self.mux.write(stream, body, now)
    }

    /// See [`Mux::writable`].
    pub fn writable(&mut self, stream: StreamId) -> u64 {
        self.mux.writable(stream)
    }

    /// See [`Mux::finish`].
    pub fn finish(&mut self, stream: StreamId, now: Instant) {
        self.mux.finish(stream, now);
    }

    /// See [`Demux::read`].
    pub fn read(&mut self, stream: StreamId, max: usize) -> Option<B> {
        self.demux.read(stream, max)
    }

    /// See [`Demux::read_end`].
    pub fn read_end(&mut self, stream: StreamId) -> bool {
        self.demux.read_end(stream)
    }

    /// Aborts a stream in both directions.
    pub fn reset(&mut self, stream: StreamId, code: u64, now: Instant) {
        if self.demux.knows(stream) || self.mux.knows(stream) {
            self.demux.forget(stream);
            self.mux.reset(stream, code, now);
        }
    }

    /// Asks the peer to open no more streams.
    pub fn drain(&mut self) {
        if let Some(it) = self.carriers.iter_mut().find(|it| it.phase == Phase::Up) {
            it.first.push_back(Frame::Drain);
        }
    }

    /// True if no stream is left and nothing has to be sent to the peer.
    pub fn is_idle(&self) -> bool {
        self.mux.streams() == 0 && self.demux.streams() == 0 && self.gone.is_empty()
    }

    /// Id of the session.
    pub const fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Number of ordered carriers in use.
    pub fn carriers_up(&self) -> usize {
        self.carriers.iter().filter(|it| it.phase == Phase::Up && it.kind == CarrierKind::Ordered).count()
    }

    /// Smoothed round trip of the carrier, measured by ping.
    pub fn rtt(&self, carrier: CarrierId) -> Option<Duration> {
        self.carriers[carrier.index()].rtt
    }

    /// Bytes waiting, retained and unread.
    pub const fn buffered(&self) -> u64 {
        self.mux.buffered() + self.demux.buffered()
    }

    /// Number of streams with at least one half alive.
    pub fn streams(&self) -> usize {
        self.mux.streams().max(self.demux.streams())
    }

    /// The sending half, for its counters.
    pub const fn mux(&self) -> &Mux<B> {
        &self.mux
    }

    /// The receiving half, for its counters.
    pub const fn demux(&self) -> &Demux<B> {
        &self.demux
    }

    /// Sets the bytes that the carrier's connection still has to send.
    pub fn set_backlog(&mut self, carrier: CarrierId, bytes: u64) {
        self.mux.set_backlog(carrier, bytes);
    }

    fn room(&self) -> Result<(), NoRoom> {
        match () {
            () if self.expired => Err(NoRoom::Expired),
            () if self.streams() >= self.config.max_streams => Err(NoRoom::Streams),
            () if self.buffered() > self.config.max_buffered => Err(NoRoom::Memory),
            () => Ok(()),
        }
    }

    fn was_opened(&self, stream: StreamId) -> bool {
        self.opened.has(stream)
    }

    fn expire(&mut self) {
        if !self.expired {
            self.expired = true;
            self.events.push_back(Event::Expired);
        }
    }
}
