//! The sending half: decides what is sent when. This file has the window limits, Nagle and silly window avoidance (RFC
//! 9293 sections 3.7.4 and 3.8.6.2.1). `acks` handles ACKs, `timers` handles time. Optional mechanisms have a file
//! each: `bundle`, `piggyback`, `spurious`, `tail`, `thin`. Urgent data is left out.

mod acks;
mod bundle;
mod piggyback;
mod reduction;
mod spurious;
mod tail;
mod thin;
mod timers;
mod validation;

use crate::config::{Nagle, Piggyback, TcpConfig, TcpTuning, WindowCounts};
use crate::congestion::{Congestion, CongestionControl};
use crate::observe::{TcpCounters, TcpObservation};
use crate::outbox::Outbox;
use crate::recovery::{LossRecovery, Phase, Recovery, Resend};
use crate::scoreboard::{Scoreboard, Sent, Weight};
use crate::segment::Segment;
use crate::timer::RetransmissionTimeout;
use gamelane_core::{ByteCount, Duration, Instant};
use reduction::Proportional;
use spurious::Undo;
use tail::TailProbe;
use validation::Usage;

/// The sending half of an endpoint. See the module.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) outbox: Outbox,
    pub(crate) timeout: RetransmissionTimeout,
    pub(crate) tuning: TcpTuning,
    board: Scoreboard,
    recovery: Recovery,
    congestion: Congestion,
    timer: Timer,
    /// Timeouts, or unanswered window probes, in a row.
    retries: u32,
    /// Time of the first of them.
    stalled_since: Instant,
    mss: u64,
    window: PeerWindow,
    nagle: Nagle,
    /// End of the last small segment (Linux `snd_sml`).
    small_end: u64,
    restart_after_idle: bool,
    last_sent: Option<Instant>,
    fin_sent: bool,
    /// The window is being reduced over a round trip.
    falling: Option<Proportional>,
    usage: Usage,
    ecn: EcnState,
    undo: Undo,
    tail: TailProbe,
}

/// Window offered by the peer (RFC 9293 section 3.3.1).
#[derive(Clone, Copy, Debug, Default)]
struct PeerWindow {
    size: u64,
    /// Offset after the last byte that may be sent.
    edge: u64,
    largest: u64,
    /// Sequence and acknowledgement number of the segment that last updated the window (SND.WL1, SND.WL2).
    updated_by: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Idle,
    Retransmit {
        at: Instant,
    },
    /// The peer's window is closed and nothing is in flight.
    Persist {
        at: Instant,
        interval: Duration,
    },
    /// The persist timer expired; the next poll sends a probe.
    Probe {
        interval: Duration,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct EcnState {
    enabled: bool,
    /// ECN echoes are ignored until this offset is acknowledged, so the window shrinks once per round trip.
    point: u64,
    /// The next new segment carries CWR.
    cwr_due: bool,
}

/// A segment to send, as far as the sending half decides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) cwr: bool,
}

impl Outgoing {
    /// A pure ACK with sequence number `seq`.
    pub(crate) fn ack_at(seq: u64) -> Self {
        Self { seq, ..Self::default() }
    }
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let mss = ByteCount(1);
        Self {
            outbox: Outbox::new(1),
            timeout: RetransmissionTimeout::new(config.timer),
            tuning: TcpTuning::default(),
            board: Scoreboard::new(1),
            recovery: Recovery::new(config.recovery, mss, config.limited_transmit),
            congestion: Congestion::new(config.congestion, mss, mss, false),
            timer: Timer::Idle,
            retries: 0,
            stalled_since: Instant::ZERO,
            mss: mss.bytes(),
            window: PeerWindow::default(),
            nagle: config.nagle,
            small_end: 0,
            restart_after_idle: config.restart_after_idle,
            last_sent: None,
            fin_sent: false,
            falling: None,
            usage: Usage::default(),
            ecn: EcnState::default(),
            undo: Undo::default(),
            tail: TailProbe::default(),
        }
    }

    /// Takes the round trip of the handshake.
    pub(crate) fn on_first_round_trip(&mut self, rtt: Duration) {
        self.timeout.on_sample(rtt, 1, 1);
        self.board.note_round_trip(rtt);
    }

    /// Starts sending after the handshake. `window` is the first window offered by the peer, in bytes.
    pub(crate) fn establish(&mut self, recovery: Recovery, congestion: Congestion, mss: u64, window: u64) {
        if matches!(recovery, Recovery::Rack(_)) {
            self.board.watch_deliveries();
        }
        self.recovery = recovery;
        self.congestion = congestion;
        if self.tuning.window_counts == WindowCounts::Segments {
            self.board.weigh(Weight::Segments { mss });
            self.congestion.window_mut().count_segments();
        }
        self.mss = mss;
        self.window = PeerWindow { size: window, edge: 1 + window, largest: window, updated_by: (0, 0) };
    }

    pub(crate) const fn uses_ecn(&self) -> bool {
        self.ecn.enabled
    }

    pub(crate) fn enable_ecn(&mut self) {
        self.ecn.enabled = true;
    }

    /// Next offset to send (SND.NXT).
    pub(crate) const fn next(&self) -> u64 {
        self.board.next()
    }

    /// True if all data and the FIN are acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_sent && self.board.is_empty()
    }

    /// True if `segment` is the newest one and was sent once. Only new data carries ECT (RFC 3168 section 6.1.5).
    pub(crate) fn may_carry_ect(&self, segment: &Segment) -> bool {
        let newest = |sent: &Sent| sent.start == segment.seq && !sent.ambiguous;
        self.ecn.enabled && segment.len > 0 && self.board.back().is_some_and(newest)
    }

    /// Returns the next segment with sequence space, or a window probe.
    pub(crate) fn poll(&mut self, counters: &mut TcpCounters, now: Instant) -> Option<Outgoing> {
        let phase = self.recovery.phase();
        if phase != Phase::Open && !self.board.is_empty() && self.may_resend() {
            let cwnd = self.cwnd();
            if let Some(resend) = self.recovery.next_resend(&mut self.board, cwnd) {
                return Some(self.resend(resend, counters, now));
            }
        }
        if self.tail == TailProbe::Due {
            return self.poll_probe(counters, now);
        }
        let new = if self.may_send_new() { self.poll_new(counters, now) } else { None };
        if new.is_some() || phase != Phase::Recovery {
            return new;
        }
        let cwnd = self.cwnd();
        let resend = self.recovery.last_resort(&mut self.board, cwnd)?;
        Some(self.resend(resend, counters, now))
    }

    /// Returns a tail loss probe: new data regardless of the congestion window, or else the last segment again.
    fn poll_probe(&mut self, counters: &mut TcpCounters, now: Instant) -> Option<Outgoing> {
        let new = self.poll_new(counters, now);
        let index = self.settle_probe(new.is_some(), counters);
        new.or_else(|| {
            let resend = Resend { index: index?, in_order: false, restarts_timer: true };
            Some(self.resend(resend, counters, now))
        })
    }

    fn resend(&mut self, resend: Resend, counters: &mut TcpCounters, now: Instant) -> Outgoing {
        if self.recovery.phase() == Phase::Loss {
            counters.timeout_retransmissions += 1;
        } else {
            counters.fast_retransmissions += 1;
        }
        if resend.restarts_timer || self.timer == Timer::Idle {
            self.start_timer(now);
        }
        self.last_sent = Some(now);
        self.note_resent(now);
        if self.tuning.piggyback != Piggyback::Off {
            self.take_neighbours_along(resend.index, counters);
        }
        let sent = self.board.resend(resend.index, resend.in_order, now);
        self.note_sent(self.board.weight().of(sent.sequence_len()));
        Outgoing { seq: sent.start, len: sent.payload(), push: sent.push, fin: sent.fin, cwr: false }
    }

    fn poll_new(&mut self, counters: &mut TcpCounters, now: Instant) -> Option<Outgoing> {
        let next = self.board.next();
        let unsent = self.outbox.unsent(next);
        let fin_due = self.outbox.is_closing() && !self.fin_sent;
        if unsent == 0 && !fin_due {
            return None;
        }
        let merges = self.nagle != Nagle::Off || self.tuning.merge_writes;
        let piece = if merges { unsent } else { self.outbox.rest_of_write(next) };
        let wanted = piece.min(self.mss);
        let fin_fits = fin_due && wanted == unsent && wanted < self.window.edge.saturating_sub(next);
        let Some(len) = self.sendable(next, wanted, fin_due, now) else {
            self.outbox.hold();
            return self.probe(counters, now);
        };
        let fin = fin_fits && len == wanted;
        let mut outgoing = self.send_new(len, fin, now);
        if let Some(rules) = self.tuning.bundling {
            self.bundle(&rules, &mut outgoing, counters);
        }
        Some(outgoing)
    }

    /// Returns how many of `wanted` bytes may be sent now. Limits: peer window, silly window avoidance, Nagle,
    /// congestion window.
    fn sendable(&mut self, next: u64, wanted: u64, closing: bool, now: Instant) -> Option<u64> {
        let usable = self.window.edge.saturating_sub(next);
        let idle = self.board.is_empty();
        let nagle_holds = !closing
            && match self.nagle {
                Nagle::Off => false,
                Nagle::Any => !idle,
                Nagle::Small => self.small_end > self.board.una(),
            };
        let len = if wanted <= usable && (wanted > 0 || usable > 0) {
            if wanted < self.mss && nagle_holds {
                return None;
            }
            wanted
        } else if usable > 0 && (2 * usable >= self.window.largest && !nagle_holds || self.is_probing()) {
            usable
        } else {
            if idle {
                self.persist(now);
            }
            return None;
        };
        if idle {
            self.resume(now);
        }
        if self.tail == TailProbe::Due {
            return Some(len);
        }
        let window = self.recovery.window(self.cwnd());
        let fits = self.recovery.in_flight(&self.board) + ByteCount(self.board.weight().of(len)) <= window;
        if !fits {
            self.note_usage(true, now);
        }
        fits.then_some(len)
    }

    fn send_new(&mut self, len: u64, fin: bool, now: Instant) -> Outgoing {
        let start = self.board.next();
        let end = start + len + u64::from(fin);
        let push = self.outbox.sent(start + len);
        self.note_new();
        self.fin_sent |= fin;
        self.board.push(Sent {
            start,
            end,
            sent_at: now,
            push,
            fin,
            sacked: false,
            lost: false,
            resent: false,
            ambiguous: false,
            bundled: 0,
        });
        self.last_sent = Some(now);
        if len < self.mss {
            self.small_end = end;
        }
        let weight = self.board.weight().of(end - start);
        self.note_sent(weight);
        let full = self.recovery.in_flight(&self.board) + ByteCount(self.mss) > self.cwnd();
        self.note_usage(full, now);
        if !matches!(self.timer, Timer::Retransmit { .. }) {
            self.start_timer(now);
        }
        self.arm_tail_probe_after_sending(now);
        let cwr = len > 0 && core::mem::take(&mut self.ecn.cwr_due);
        Outgoing { seq: start, len: len as u32, push, fin, cwr }
    }

    pub(crate) fn abort(&mut self) {
        self.timer = Timer::Idle;
        self.tail = TailProbe::Idle;
    }

    pub(crate) fn observe(&self) -> TcpObservation {
        TcpObservation {
            cwnd: self.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            srtt: self.timeout.srtt(),
            rto: self.timeout.rto_with(self.board.len()),
            bytes_in_flight: self.recovery.in_flight(&self.board),
            bytes_unsent: ByteCount(self.outbox.unsent(self.board.next())),
            peer_window: ByteCount(self.window.size),
            phase: self.recovery.phase(),
        }
    }
}
