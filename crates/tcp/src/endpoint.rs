//! A TCP endpoint (RFC 9293 section 3.10) as a state machine without clock or socket: the handshake with its options, then
//! a sender and a receiver that share segments. Leaves out simultaneous open, urgent data, RST in reply to strays, and
//! the TIME-WAIT timer: a closed endpoint answers a repeated FIN for as long as it is kept.

use crate::config::{RecoveryKind, TcpConfig};
use crate::congestion::Congestion;
use crate::observe::{PendingEvents, TcpCounters, TcpEvent, TcpObservation};
use crate::receiver::{Receiver, window_shift};
use crate::recovery::Recovery;
use crate::segment::{Flags, HEADER_LEN, Segment, TIMESTAMP_OPTION_LEN};
use crate::sender::{Outgoing, Sender};
use gamelane_core::time::earliest;
use gamelane_core::{ByteCount, Duration, Ecn, Instant};

/// One end of a connection.
///
/// Inputs are [`handle_segment`](Self::handle_segment), [`handle_timeout`](Self::handle_timeout) and the application's
/// [`write`](Self::write) and [`close`](Self::close). After any of them call [`poll_transmit`](Self::poll_transmit) until
/// `None`, then [`poll_event`](Self::poll_event) until `None` (an event may lead to a write), then read
/// [`poll_timeout`](Self::poll_timeout). Time never goes back.
///
/// ```
/// use gamelane_core::{ByteCount, Instant};
/// use gamelane_tcp::{TcpConfig, TcpEndpoint, TcpEvent};
///
/// let now = Instant::ZERO;
/// let mut client = TcpEndpoint::connect(TcpConfig::default(), now);
/// let mut server = TcpEndpoint::listen(TcpConfig::default());
/// client.write(ByteCount(120));
/// // A network without delay: SYN, SYN-ACK, then data that completes the handshake.
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
    /// Timestamps are in use.
    timestamps: bool,
    /// Shift of the peer's windows.
    peer_shift: u8,
    events: PendingEvents,
    counters: TcpCounters,
}

#[derive(Clone, Debug)]
enum State {
    Listen,
    SynSent(Handshake),
    SynReceived(Handshake, PeerSyn),
    /// ESTABLISHED up to TIME-WAIT: sender and receiver know how far each direction is closed.
    Open,
    Closed,
}

/// Our SYN or SYN-ACK on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// It must be sent now.
    due: bool,
    /// When it was last sent.
    sent_at: Option<Instant>,
    /// When it is sent again.
    deadline: Option<Instant>,
    retries: u32,
}

/// What the peer's SYN offered.
#[derive(Clone, Copy, Debug)]
struct PeerSyn {
    mss: u32,
    window: u16,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: bool,
    ecn: bool,
}

/// Offsets beyond this are nonsense from outside: no stream gets there, and sums below it cannot overflow.
pub(crate) const MAX_OFFSET: u64 = 1 << 62;
/// Linux `tcp_syn_retries`.
const MAX_SYN_RETRIES: u32 = 6;
/// RFC 9293 section 3.7.1: without the option.
const DEFAULT_MSS: u16 = 536;
/// No smaller segments, whatever the options say (Linux `TCP_MIN_SND_MSS`).
const MIN_MSS: u32 = 48;

impl TcpEndpoint {
    /// A client: its SYN is ready to be polled.
    pub fn connect(config: TcpConfig, _now: Instant) -> Self {
        Self::new(config, State::SynSent(Handshake { due: true, ..Handshake::default() }))
    }

    /// A server: waits for a SYN.
    pub fn listen(config: TcpConfig) -> Self {
        Self::new(config, State::Listen)
    }

    fn new(config: TcpConfig, state: State) -> Self {
        Self {
            state,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            timestamps: false,
            peer_shift: 0,
            events: PendingEvents::default(),
            counters: TcpCounters::default(),
            config,
        }
    }

    /// A segment arrived; `ce` if its IP header said that congestion was experienced. Any segment is legal input.
    pub fn handle_segment(&mut self, segment: &Segment, ce: bool, now: Instant) {
        self.counters.segments_received += 1;
        if segment.seq > MAX_OFFSET || segment.ack > MAX_OFFSET {
            return;
        }
        match self.state {
            State::Open => self.on_open(segment, ce, now),
            State::Listen => self.on_listen(segment),
            State::SynSent(handshake) => self.on_syn_sent(segment, handshake, now),
            State::SynReceived(handshake, peer) => self.on_syn_received(segment, ce, handshake, peer, now),
            // The peer missed our last ACK.
            State::Closed
                if self.sender.is_finished() && segment.sequence_len() > 0 && !segment.flags.rst =>
            {
                self.receiver.owe_ack();
            }
            State::Closed => {}
        }
    }

    /// The next segment to send, if any may go now. Call until `None`.
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

    /// When to call [`handle_timeout`](Self::handle_timeout) next; `None` if only a segment or the application can
    /// change anything.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Open => earliest(self.sender.poll_timeout(), self.receiver.poll_timeout()),
            State::SynSent(handshake) | State::SynReceived(handshake, _) => handshake.deadline,
            State::Listen | State::Closed => None,
        }
    }

    /// Time has come to `now`. Early calls do nothing; a late call does what a timely one would have done.
    pub fn handle_timeout(&mut self, now: Instant) {
        match &mut self.state {
            State::Open => {
                self.receiver.handle_timeout(now);
                if !self.sender.handle_timeout(&mut self.counters, now) {
                    self.abort();
                }
            }
            State::SynSent(handshake) | State::SynReceived(handshake, _)
                if handshake.deadline.is_some_and(|deadline| deadline <= now) =>
            {
                self.counters.timeouts += 1;
                handshake.deadline = None;
                handshake.due = true;
                handshake.retries += 1;
                let give_up = handshake.retries > MAX_SYN_RETRIES;
                self.sender.timeout.back_off();
                if give_up {
                    self.abort();
                }
            }
            _ => {}
        }
    }

    /// The next event, if any. Call until `None`.
    pub fn poll_event(&mut self) -> Option<TcpEvent> {
        self.events.poll()
    }

    /// Appends a message to the stream; legal before the connection is open. Its last segment has PSH; without Nagle a
    /// small message leaves as a segment of its own, unless the window held an earlier one back that it then joins.
    /// Nothing is written after [`close`](Self::close).
    pub fn write(&mut self, bytes: ByteCount) {
        self.sender.outbox.write(bytes);
    }

    /// From now on there is always more to send.
    pub fn write_forever(&mut self) {
        self.sender.outbox.write_forever();
    }

    /// Nothing more will be written: FIN follows what was written, or after
    /// [`write_forever`](Self::write_forever) what has been sent. Before the connection is open this is remembered, where
    /// RFC 9293 would give the attempt up.
    pub fn close(&mut self) {
        self.sender.outbox.close(self.sender.next());
    }

    /// True once both directions are closed, or after a reset or giving up.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// The sender's state now.
    pub fn observe(&self) -> TcpObservation {
        self.sender.observe()
    }

    /// Totals so far.
    pub const fn counters(&self) -> &TcpCounters {
        &self.counters
    }

    /// The ECN field for the segment that [`poll_transmit`](Self::poll_transmit) gave last: ECT(0) for new data if both
    /// sides agreed, nothing for retransmissions and bare ACKs (RFC 3168 sections 6.1.4 and 6.1.5).
    pub fn ecn_codepoint(&self, segment: &Segment) -> Ecn {
        if self.sender.may_carry_ect(segment) { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn on_listen(&mut self, segment: &Segment) {
        if !segment.flags.syn || segment.flags.ack || segment.flags.rst || segment.seq != 0 {
            return;
        }
        let asks_ecn = segment.flags.ece && segment.flags.cwr;
        let peer = PeerSyn::of(segment, &self.config, asks_ecn);
        self.take_options(segment, &peer);
        self.state = State::SynReceived(Handshake { due: true, ..Handshake::default() }, peer);
    }

    fn on_syn_sent(&mut self, segment: &Segment, handshake: Handshake, now: Instant) {
        if !segment.flags.ack || segment.ack != 1 || handshake.sent_at.is_none() {
            return;
        }
        if segment.flags.rst {
            self.abort();
            return;
        }
        if !segment.flags.syn || segment.seq != 0 {
            return;
        }
        let peer = PeerSyn::of(segment, &self.config, segment.flags.ece && !segment.flags.cwr);
        self.take_options(segment, &peer);
        self.open(handshake, &peer, u64::from(peer.window), self.echo_age(segment, now), now);
        self.receiver.owe_ack();
    }

    fn on_syn_received(
        &mut self,
        segment: &Segment,
        ce: bool,
        handshake: Handshake,
        peer: PeerSyn,
        now: Instant,
    ) {
        if segment.flags.syn {
            // Our SYN-ACK was lost; the retransmission timer goes on.
            self.state = State::SynReceived(Handshake { due: true, ..handshake }, peer);
        } else if segment.flags.rst {
            if segment.seq == 1 {
                self.abort();
            }
        } else if segment.flags.ack && segment.ack == 1 && handshake.sent_at.is_some() {
            let window = u64::from(segment.window) << self.peer_shift;
            self.open(handshake, &peer, window, self.echo_age(segment, now), now);
            self.on_open(segment, ce, now);
        }
    }

    fn on_open(&mut self, segment: &Segment, ce: bool, now: Instant) {
        if segment.flags.rst {
            // RFC 5961 section 3: exact, or challenged.
            if segment.seq == self.receiver.next() {
                self.abort();
            } else {
                self.receiver.owe_ack();
            }
            return;
        }
        if segment.flags.syn || !segment.flags.ack {
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
        if segment.len > 0 {
            self.receiver.on_ecn(ce && self.sender.uses_ecn(), segment.flags.cwr);
        }
        let had_fin = self.receiver.has_peer_fin();
        let delivered = self.receiver.on_segment(segment, &mut self.counters, now);
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

    /// The peer's SYN is here: options take effect.
    fn take_options(&mut self, segment: &Segment, peer: &PeerSyn) {
        self.timestamps = self.config.timestamps && peer.timestamps;
        let scaled = peer.window_scale.is_some();
        self.peer_shift = peer.window_scale.unwrap_or(0).min(14);
        self.receiver.establish(u64::from(self.segment_size(peer)), scaled, self.uses_sack(peer));
        if let Some((value, _)) = segment.timestamps.filter(|_| self.timestamps) {
            self.receiver.on_timestamp(value, 0);
        }
    }

    /// The handshake is complete.
    fn open(
        &mut self,
        handshake: Handshake,
        peer: &PeerSyn,
        window: u64,
        echo: Option<Duration>,
        now: Instant,
    ) {
        let once = handshake.sent_at.filter(|_| handshake.retries == 0);
        match once.map(|at| now.saturating_since(at)).or(echo) {
            Some(rtt) => self.sender.timeout.on_sample(rtt, 1, 1),
            None => self.sender.timeout.fall_back(),
        }
        let mss = ByteCount(u64::from(self.segment_size(peer)));
        // RFC 5681 section 3.1: one segment if the SYN or SYN-ACK had to be sent again.
        let initial = if handshake.retries > 0 { mss } else { self.config.initial_window.bytes(mss) };
        let kind = if self.uses_sack(peer) { self.config.recovery } else { RecoveryKind::NewReno };
        self.sender.establish(
            Recovery::new(kind, mss, self.config.limited_transmit),
            Congestion::new(self.config.congestion, mss, initial),
            mss.bytes(),
            window,
        );
        if peer.ecn {
            self.sender.enable_ecn();
        }
        self.state = State::Open;
        self.events.connected = true;
    }

    const fn offered_mss(&self) -> u32 {
        self.config.mtu.0.saturating_sub(HEADER_LEN)
    }

    /// Payload of a full segment in both directions.
    fn segment_size(&self, peer: &PeerSyn) -> u32 {
        let options = if self.timestamps { TIMESTAMP_OPTION_LEN } else { 0 };
        self.offered_mss().min(peer.mss).saturating_sub(options).max(MIN_MSS)
    }

    fn uses_sack(&self, peer: &PeerSyn) -> bool {
        self.config.recovery == RecoveryKind::Sack && peer.sack_permitted
    }

    fn poll_syn(&mut self, handshake: Handshake, peer: Option<PeerSyn>, now: Instant) -> Option<Segment> {
        if !handshake.due {
            return None;
        }
        if handshake.sent_at.is_some() {
            self.counters.timeout_retransmissions += 1;
        }
        let deadline = handshake.deadline.or(Some(now.saturating_add(self.sender.timeout.rto())));
        let sent = Handshake { due: false, sent_at: Some(now), deadline, ..handshake };
        self.state = match peer {
            None => State::SynSent(sent),
            Some(peer) => State::SynReceived(sent, peer),
        };
        let scales = peer.is_none_or(|peer| peer.window_scale.is_some());
        let stamps = peer.map_or(self.config.timestamps, |_| self.timestamps);
        let ecn = peer.map_or(self.config.ecn, |peer| peer.ecn);
        Some(Segment {
            ack: u64::from(peer.is_some()),
            window: self.receiver.unscaled_window(),
            flags: Flags {
                syn: true,
                ack: peer.is_some(),
                ece: ecn,
                cwr: ecn && peer.is_none(),
                ..Flags::default()
            },
            window_scale: scales.then(|| window_shift(self.config.receive_window)),
            mss: Some(self.offered_mss().min(u32::from(u16::MAX)) as u16),
            sack_permitted: peer
                .map_or(self.config.recovery == RecoveryKind::Sack, |peer| self.uses_sack(&peer)),
            timestamps: stamps.then(|| (clock(now), self.receiver.recent_timestamp())),
            ..Segment::default()
        })
    }

    fn poll_open(&mut self, now: Instant) -> Option<Segment> {
        // Duplicate ACKs are counted by the peer only if they are bare.
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

    /// A whole segment from its sending half.
    fn stamped(&mut self, outgoing: Outgoing, now: Instant) -> Segment {
        let mut segment = Segment {
            seq: outgoing.seq,
            len: outgoing.len,
            flags: Flags { psh: outgoing.push, fin: outgoing.fin, cwr: outgoing.cwr, ..Flags::default() },
            ..Segment::default()
        };
        if self.timestamps {
            segment.timestamps = Some((clock(now), self.receiver.recent_timestamp()));
        }
        self.receiver.stamp(&mut segment);
        segment
    }

    /// Age of the timestamp the peer echoes; `None` if it cannot be ours.
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

impl PeerSyn {
    fn of(segment: &Segment, config: &TcpConfig, asks_ecn: bool) -> Self {
        Self {
            mss: u32::from(segment.mss.unwrap_or(DEFAULT_MSS)),
            window: segment.window,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamps: segment.timestamps.is_some(),
            ecn: config.ecn && asks_ecn,
        }
    }
}

/// The timestamp clock: milliseconds (Linux), from 1 because 0 means "nothing to echo".
const fn clock(now: Instant) -> u32 {
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1)
}
