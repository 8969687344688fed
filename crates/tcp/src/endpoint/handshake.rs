//! The three-way handshake (RFC 9293 section 3.5) and its options: segment size, window scale (RFC 7323 section 2),
//! timestamps, SACK (RFC 2018 section 2), ECN (RFC 3168 section 6.1.1). TCP Fast Open and SYN cookies are left out.

use super::{State, TcpEndpoint, clock};
use crate::config::{RecoveryKind, TcpConfig};
use crate::congestion::Congestion;
use crate::receiver::window_shift;
use crate::recovery::Recovery;
use crate::segment::{Flags, HEADER_LEN, Segment};
use core::num::NonZeroU16;
use gamelane_core::headers::TCP_TIMESTAMPS;
use gamelane_core::{ByteCount, Duration, Instant};

/// State of our SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    /// It must be sent now.
    pub(super) due: bool,
    /// Time of its first transmission.
    first_sent_at: Option<Instant>,
    /// Time of its last transmission.
    pub(super) sent_at: Option<Instant>,
    /// Time of its next transmission.
    pub(super) deadline: Option<Instant>,
    pub(super) retries: u32,
}

/// Options and window of the peer's SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerSyn {
    mss: u32,
    window: u16,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: bool,
    ecn: bool,
}

impl Handshake {
    pub(super) fn due() -> Self {
        Self { due: true, ..Self::default() }
    }
}

/// Maximum number of SYN retransmissions after those that do not double the wait (Linux `tcp_syn_retries`).
const MAX_SYN_RETRIES: u32 = 6;
/// Maximum segment size if the SYN has no MSS option (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Minimum segment size, regardless of the options (Linux `TCP_MIN_SND_MSS`).
const MIN_MSS: u32 = 48;

impl TcpEndpoint {
    pub(super) fn on_listen(&mut self, segment: &Segment, now: Instant) {
        if !segment.flags.syn() || segment.flags.ack() || segment.flags.rst() || segment.seq != 0 {
            return;
        }
        let asks_ecn = segment.flags.ece() && segment.flags.cwr();
        let peer = PeerSyn::of(segment, &self.config, asks_ecn);
        self.take_options(segment, &peer, now);
        self.state = State::SynReceived(Handshake::due(), peer);
    }

    pub(super) fn on_syn_sent(&mut self, segment: &Segment, handshake: Handshake, now: Instant) {
        if !segment.flags.ack() || segment.ack != 1 || handshake.sent_at.is_none() {
            return;
        }
        if segment.flags.rst() {
            self.abort();
            return;
        }
        if !segment.flags.syn() || segment.seq != 0 {
            return;
        }
        let peer = PeerSyn::of(segment, &self.config, segment.flags.ece() && !segment.flags.cwr());
        self.take_options(segment, &peer, now);
        self.open(handshake, &peer, u64::from(peer.window), self.echo_age(segment, now), now);
        self.receiver.owe_ack();
    }

    pub(super) fn on_syn_received(
        &mut self,
        segment: &Segment,
        ce: bool,
        handshake: Handshake,
        peer: PeerSyn,
        now: Instant,
    ) {
        if segment.flags.syn() {
            // Our SYN-ACK was lost. The retransmission timer continues.
            self.state = State::SynReceived(Handshake { due: true, ..handshake }, peer);
        } else if segment.flags.rst() {
            if segment.seq == 1 {
                self.abort();
            }
        } else if segment.flags.ack() && segment.ack == 1 && handshake.sent_at.is_some() {
            let window = u64::from(segment.window) << self.peer_shift;
            self.open(handshake, &peer, window, self.echo_age(segment, now), now);
            self.on_open(segment, ce, now);
        }
    }

    pub(super) fn on_handshake_timeout(&mut self, now: Instant) {
        let (State::SynSent(handshake) | State::SynReceived(handshake, _)) = &mut self.state else { return };
        if handshake.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        self.counters.timeouts += 1;
        handshake.deadline = None;
        handshake.due = true;
        handshake.retries += 1;
        let retries = handshake.retries;
        let is_client = matches!(self.state, State::SynSent(_));
        let linear = if is_client { self.sender.tuning.linear_syns } else { 0 };
        let give_up = retries > MAX_SYN_RETRIES + linear;
        if retries > linear {
            self.sender.timeout.back_off();
        }
        if give_up {
            self.abort();
        }
    }

    /// Applies the options of the peer's SYN.
    fn take_options(&mut self, segment: &Segment, peer: &PeerSyn, now: Instant) {
        self.timestamps = self.config.timestamps && peer.timestamps;
        let scaled = peer.window_scale.is_some();
        self.peer_shift = peer.window_scale.unwrap_or(0).min(14);
        self.receiver.establish(u64::from(self.segment_size(peer)), scaled, self.uses_sack(peer), now);
        if let Some((value, _)) = segment.timestamps.filter(|_| self.timestamps) {
            self.receiver.on_timestamp(value, 0);
        }
    }

    /// Opens the connection after the handshake.
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
            Some(rtt) => self.sender.on_first_round_trip(rtt),
            None => self.sender.timeout.fall_back(),
        }
        let mss = ByteCount(u64::from(self.segment_size(peer)));
        let starts_low = self.starts_low(&handshake, echo, now);
        let initial = if starts_low { mss } else { self.config.initial_window.bytes(mss) };
        let kind = if self.uses_sack(peer) { self.config.recovery } else { RecoveryKind::NewReno };
        self.sender.establish(
            Recovery::new(kind, mss, self.config.limited_transmit),
            Congestion::new(self.config.congestion, mss, initial, self.sender.tuning.hystart),
            mss.bytes(),
            window,
        );
        if peer.ecn {
            self.sender.enable_ecn();
        }
        self.state = State::Open;
        self.events.connected = true;
    }

    /// Whether the first window is one segment, because the SYN or SYN-ACK was sent again (RFC 5681 section 3.1). With Eifel
    /// detection, as in Linux (`tcp_init_transfer`, `tcp_try_undo_spurious_syn`), it is one only at a client that sent its
    /// SYN more than twice and got no answer to the first.
    fn starts_low(&self, handshake: &Handshake, echo: Option<Duration>, now: Instant) -> bool {
        if !self.sender.tuning.eifel {
            return handshake.retries > 0;
        }
        let echoed = echo.map(|age| clock(now).wrapping_sub((age.as_nanos() / 1_000_000) as u32));
        let answers_first = echoed.is_some() && echoed == handshake.first_sent_at.map(clock);
        matches!(self.state, State::SynSent(_)) && handshake.retries > 1 && !answers_first
    }

    const fn offered_mss(&self) -> u32 {
        self.config.mtu.0.saturating_sub(HEADER_LEN)
    }

    /// Payload of a full segment in both directions.
    fn segment_size(&self, peer: &PeerSyn) -> u32 {
        let options = if self.timestamps { TCP_TIMESTAMPS } else { 0 };
        self.offered_mss().min(peer.mss).saturating_sub(options).max(MIN_MSS)
    }

    fn uses_sack(&self, peer: &PeerSyn) -> bool {
        self.config.recovery.uses_sack() && peer.sack_permitted
    }

    pub(super) fn poll_syn(
        &mut self,
        handshake: Handshake,
        peer: Option<PeerSyn>,
        now: Instant,
    ) -> Option<Segment> {
        if !handshake.due {
            return None;
        }
        if handshake.sent_at.is_some() {
            self.counters.timeout_retransmissions += 1;
        }
        let deadline = handshake.deadline.or(Some(now.saturating_add(self.sender.timeout.rto())));
        let first_sent_at = handshake.first_sent_at.or(Some(now));
        let sent = Handshake { due: false, first_sent_at, sent_at: Some(now), deadline, ..handshake };
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
            }
            .into(),
            window_scale: scales.then(|| window_shift(self.config.receive_window.limit())),
            mss: NonZeroU16::new(self.offered_mss().min(u32::from(u16::MAX)) as u16),
            sack_permitted: peer.map_or(self.config.recovery.uses_sack(), |peer| self.uses_sack(&peer)),
            timestamps: stamps.then(|| (clock(now), self.receiver.recent_timestamp())),
            ..Segment::default()
        })
    }
}

impl PeerSyn {
    fn of(segment: &Segment, config: &TcpConfig, asks_ecn: bool) -> Self {
        Self {
            mss: u32::from(segment.mss.map_or(DEFAULT_MSS, NonZeroU16::get)),
            window: segment.window,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamps: segment.timestamps.is_some(),
            ecn: config.ecn && asks_ecn,
        }
    }
}
