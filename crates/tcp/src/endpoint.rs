//! A TCP endpoint (RFC 9293 section 3.10) as a state machine without clock or socket: a handshake, then a sender and a
//! receiver that share segments. Left out: simultaneous open, urgent data, RST as the answer to stray segments, and the
//! TIME-WAIT timer. A closed endpoint answers a repeated FIN as long as it exists.

mod handshake;

use crate::config::{TcpConfig, TcpTuning};
use crate::observe::{PendingEvents, TcpCounters, TcpEvent, TcpObservation};
use crate::receiver::{Receiver, Times};
use crate::segment::{Flags, MAX_OFFSET, Segment};
use crate::sender::{Outgoing, Sender};
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Duration, Ecn, Instant};
use handshake::{Handshake, PeerSyn};

/// One end of a connection.
///
/// The inputs are [`handle_segment`](Self::handle_segment), [`handle_timeout`](Self::handle_timeout), and
/// [`write`](Self::write) and [`close`](Self::close) of the application. After each input:
///
/// 1. call [`poll_transmit`](Self::poll_transmit) until it returns `None`,
/// 2. call [`poll_event`](Self::poll_event) until it returns `None`; an event may lead to a write,
/// 3. read [`poll_timeout`](Self::poll_timeout).
///
/// Time must never go back.
///
/// ```
/// use gamelane_core::{ByteCount, Instant};
/// use gamelane_tcp::{TcpConfig, TcpEndpoint, TcpEvent};
///
/// let now = Instant::ZERO;
/// let mut client = TcpEndpoint::connect(TcpConfig::default(), now);
/// let mut server = TcpEndpoint::listen(TcpConfig::default());
/// client.write(ByteCount(120));
/// // A network without delay. It carries the SYN, the SYN-ACK, then data that completes the handshake.
/// loop {
///     let mut quiet = true;
///     while let Some(segment) = client.poll_transmit(now) {
///         server.handle_segment(&segment, false, now);
///         quiet = false;
///     }
///     while let Some(segment) = server.poll_transmit(now) {
///         client.handle_segment(&segment, false, now);
///         quiet = false;
///     }
///     if quiet {
///         break;
///     }
/// }
/// assert_eq!(server.poll_event(), Some(TcpEvent::Connected));
/// assert_eq!(server.poll_event(), Some(TcpEvent::Delivered { bytes: ByteCount(120) }));
/// ```
#[derive(Clone, Debug)]
pub struct TcpEndpoint {
    config: TcpConfig,
    state: State,
    sender: Sender,
    receiver: Receiver,
    /// Both sides use timestamps.
    timestamps: bool,
    /// Shift (window scale) of the peer's windows.
    peer_shift: u8,
    events: PendingEvents,
    counters: TcpCounters,
}

#[derive(Clone, Debug)]
enum State {
    Listen,
    SynSent(Handshake),
    SynReceived(Handshake, PeerSyn),
    /// ESTABLISHED to TIME-WAIT. Sender and receiver know which directions are closed.
    Open,
    Closed,
}

impl TcpEndpoint {
    /// A client; its SYN is ready to be polled.
    pub fn connect(config: TcpConfig, _now: Instant) -> Self {
        Self::new(config, State::SynSent(Handshake::due()))
    }

    /// A server that waits for a SYN.
    pub fn listen(config: TcpConfig) -> Self {
        Self::new(config, State::Listen)
    }

    /// Replaces the tuning of the configuration. Call it before anything else.
    #[must_use]
    pub fn tuned(mut self, tuning: TcpTuning) -> Self {
        self.sender.tuning = tuning;
        self.receiver.tune(&tuning);
        self
    }

    fn new(config: TcpConfig, state: State) -> Self {
        let tuning = config.tuning;
        let endpoint = Self {
            state,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            timestamps: false,
            peer_shift: 0,
            events: PendingEvents::default(),
            counters: TcpCounters::default(),
            config,
        };
        endpoint.tuned(tuning)
    }

    /// Handles a received segment; `ce` is true if its IP header had a CE mark. Any segment is valid input.
    pub fn handle_segment(&mut self, segment: &Segment, ce: bool, now: Instant) {
        self.counters.segments_received += 1;
        if segment.seq > MAX_OFFSET || segment.ack > MAX_OFFSET {
            return;
        }
        match self.state {
            State::Open => self.on_open(segment, ce, now),
            State::Listen => self.on_listen(segment, now),
            State::SynSent(handshake) => self.on_syn_sent(segment, handshake, now),
            State::SynReceived(handshake, peer) => self.on_syn_received(segment, ce, handshake, peer, now),
            // The peer missed our last ACK.
            State::Closed
                if self.sender.is_finished() && segment.sequence_len() > 0 && !segment.flags.rst() =>
            {
                self.receiver.owe_ack();
            }
            State::Closed => {}
        }
    }

    /// Returns the next segment that may be sent now. Call it until it returns `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let segment = match self.state {
            State::Open => self.poll_open(now)?,
            State::Listen => return None,
            State::SynSent(handshake) => self.poll_syn(handshake, None, now)?,
            State::SynReceived(handshake, peer) => self.poll_syn(handshake, Some(peer), now)?,
            State::Closed => {
                self.receiver.owes_ack().then(|| self.stamped(Outgoing::ack_at(self.sender.next()), now))?
            }
        };
        self.counters.segments_sent += 1;
        if segment.len > 0 {
            self.counters.data_segments_sent += 1;
            self.counters.bytes_sent += ByteCount(u64::from(segment.len));
        }
        Some(segment)
    }

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout). `None` if no timer runs.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Open => earliest(self.sender.poll_timeout(), self.receiver.poll_timeout()),
            State::SynSent(handshake) | State::SynReceived(handshake, _) => handshake.deadline,
            State::Listen | State::Closed => None,
        }
    }

    /// Handles all timers that expired until `now`. An early call does nothing; a late call does the same as one in
    /// time.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Open => {
                self.receiver.handle_timeout(self.sender.rto(), now);
                if !self.sender.handle_timeout(&mut self.counters, now) {
                    self.abort();
                }
            }
            State::SynSent(_) | State::SynReceived(..) => self.on_handshake_timeout(now),
            State::Listen | State::Closed => {}
        }
    }

    /// Returns the next event. Call it until it returns `None`.
    pub fn poll_event(&mut self) -> Option<TcpEvent> {
        self.events.poll()
    }

    /// Appends a message of `bytes` bytes to the stream, also before the connection is open. The last segment of the
    /// message has PSH. Without Nagle, a small message gets a segment of its own, unless the window held an earlier
    /// message back. A write after [`close`](Self::close) is ignored.
    pub fn write(&mut self, bytes: ByteCount) {
        self.sender.outbox.write(bytes);
    }

    /// Makes the source endless: from now on there is always more to send.
    pub fn write_forever(&mut self) {
        self.sender.outbox.write_forever();
    }

    /// Closes this direction. The FIN follows the written data, or after [`write_forever`](Self::write_forever) the
    /// data already sent. Before the connection is open, the close is remembered; RFC 9293 would end the attempt.
    pub fn close(&mut self) {
        self.sender.outbox.close(self.sender.next());
    }

    /// True after both directions were closed, after a reset, or after giving up.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Current state of the sender.
    pub fn observe(&self) -> TcpObservation {
        self.sender.observe()
    }

    /// Counters so far.
    pub const fn counters(&self) -> &TcpCounters {
        &self.counters
    }

    /// ECN field for a segment that [`poll_transmit`](Self::poll_transmit) just returned: ECT(0) for new data if ECN
    /// was negotiated, Not-ECT for retransmissions and pure ACKs (RFC 3168 sections 6.1.4 and 6.1.5).
    pub fn ecn_codepoint(&self, segment: &Segment) -> Ecn {
        if self.sender.may_carry_ect(segment) { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn on_open(&mut self, segment: &Segment, ce: bool, now: Instant) {
        if segment.flags.rst() {
            // RFC 5961 section 3: an exact sequence number resets, any other gets a challenge ACK.
            if segment.seq == self.receiver.next() {
                self.abort();
            } else {
                self.receiver.owe_ack();
            }
            return;
        }
        if segment.flags.syn() || !segment.flags.ack() {
            self.receiver.owe_ack();
            return;
        }
        let mut echo = None;
        if let Some((value, _)) = segment.timestamps.filter(|_| self.timestamps) {
            self.receiver.on_timestamp(value, segment.seq);
            echo = self.echo_age(segment, now);
        }
        let window = u64::from(segment.window) << self.peer_shift;
        if !self.sender.on_ack(segment, window, echo, &mut self.counters, now) {
            self.receiver.owe_ack();
            return;
        }
        let times = Times { rto: self.sender.rto(), srtt: self.sender.timeout.srtt(), echo };
        if segment.len > 0 {
            self.receiver.on_ecn(ce && self.sender.uses_ecn(), segment.flags.cwr());
            self.receiver.on_data(segment, &times, now);
        }
        let had_fin = self.receiver.has_peer_fin();
        let delivered = self.receiver.on_segment(segment, &times, &mut self.counters, now);
        self.events.delivered += delivered;
        self.counters.bytes_delivered += delivered;
        if self.receiver.has_peer_fin() {
            self.events.peer_closed |= !had_fin;
            if self.sender.is_finished() {
                self.state = State::Closed;
                self.events.closed = true;
            }
        }
    }

    fn poll_open(&mut self, now: Instant) -> Option<Segment> {
        // The peer counts duplicate ACKs only if they carry no data.
        if self.receiver.owes_duplicate() {
            return Some(self.stamped(Outgoing::ack_at(self.sender.next()), now));
        }
        let outgoing = match self.sender.poll(&mut self.counters, now) {
            Some(outgoing) => outgoing,
            None if self.receiver.owes_ack() => Outgoing::ack_at(self.sender.next()),
            None => return None,
        };
        Some(self.stamped(outgoing, now))
    }

    /// Completes a segment that the sending half decided on.
    fn stamped(&mut self, outgoing: Outgoing, now: Instant) -> Segment {
        let mut segment = Segment {
            seq: outgoing.seq,
            len: outgoing.len,
            timestamps: self.timestamps.then(|| (clock(now), self.receiver.recent_timestamp())),
            ..Segment::default()
        };
        let flags = Flags { psh: outgoing.push, fin: outgoing.fin, cwr: outgoing.cwr, ..Flags::default() };
        self.receiver.stamp(&mut segment, flags, now);
        segment
    }

    /// Age of the timestamp that the peer echoes; `None` if this end cannot have sent it.
    fn echo_age(&self, segment: &Segment, now: Instant) -> Option<Duration> {
        let (_, echo) = segment.timestamps.filter(|_| self.timestamps)?;
        let age = clock(now).wrapping_sub(echo);
        (echo != 0 && age < clock(now)).then(|| Duration::from_millis(u64::from(age.max(1))))
    }

    fn abort(&mut self) {
        self.state = State::Closed;
        self.sender.abort();
        self.receiver.abort();
        self.events.closed = true;
    }
}

/// The timestamp clock in milliseconds, as in Linux. It starts at 1, because 0 means "nothing to echo".
const fn clock(now: Instant) -> u32 {
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1)
}
