//! The timers of the sender: retransmission (RFC 6298 section 5), persist, giving up, and the two deadlines of
//! RACK-TLP. The persist timer follows Linux: a window probe is an empty segment just below the window. Either the
//! retransmission or the persist timer runs, never both.

use super::tail::TailProbe;
use super::{Outgoing, Sender, Timer};
use crate::config::Reduction;
use crate::congestion::CongestionControl;
use crate::observe::TcpCounters;
use crate::recovery::{LossRecovery, Phase, Recovery, Verdict};
use gamelane_core::time::earliest;
use gamelane_core::{Duration, Instant};

/// Timeouts in a row before the connection is given up (Linux `tcp_retries2`).
const MAX_RETRIES: u32 = 15;
/// Time until `MAX_RETRIES` timeouts with doubling from 200 ms (Linux). It limits the wait for timers without back-off.
pub(super) const GIVE_UP_AFTER: Duration = Duration::from_millis(924_600);
/// Minimum of the first persist interval (Linux).
const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum persist interval (Linux).
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(120);

impl Sender {
    /// Timeout including back-off, without the rules for thin streams.
    pub(crate) fn rto(&self) -> Duration {
        self.timeout.rto()
    }

    pub(super) fn start_timer(&mut self, now: Instant) {
        self.timer = Timer::Retransmit { at: now.saturating_add(self.timeout.rto_with(self.board.len())) };
    }

    pub(super) const fn is_probing(&self) -> bool {
        matches!(self.timer, Timer::Probe { .. })
    }

    /// Starts the persist timer, because nothing is in flight and the window is closed. A running timer continues.
    pub(super) fn persist(&mut self, now: Instant) {
        let interval = match self.timer {
            Timer::Persist { .. } | Timer::Probe { .. } => return,
            Timer::Idle | Timer::Retransmit { .. } => self.timeout.rto().max(MIN_PROBE_INTERVAL),
        };
        self.timer = Timer::Persist { at: now.saturating_add(interval), interval };
    }

    /// Returns a window probe if the persist timer has expired. It is an empty segment below the window; the peer must
    /// answer it.
    pub(super) fn probe(&mut self, counters: &mut TcpCounters, now: Instant) -> Option<Outgoing> {
        let Timer::Probe { interval } = self.timer else { return None };
        let interval = interval.saturating_mul(2).min(MAX_PROBE_INTERVAL);
        self.timer = Timer::Persist { at: now.saturating_add(interval), interval };
        counters.window_probes += 1;
        Some(Outgoing::ack_at(self.board.una() - 1))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timer = match self.timer {
            Timer::Retransmit { at } | Timer::Persist { at, .. } => Some(at),
            Timer::Idle | Timer::Probe { .. } => None,
        };
        match self.recovery {
            Recovery::Rack(_) => {
                earliest(timer, earliest(self.recovery.poll_timeout(), self.tail_deadline()))
            }
            Recovery::NewReno(_) | Recovery::Sack(_) => timer,
        }
    }

    /// Handles expired timers. Returns false if the peer has not answered for too long and the connection is given up.
    pub(crate) fn handle_timeout(&mut self, counters: &mut TcpCounters, now: Instant) -> bool {
        if matches!(self.recovery, Recovery::Rack(_)) {
            let cwnd = self.cwnd();
            if self.recovery.handle_timeout(&mut self.board, now) == Verdict::Entered {
                self.on_recovery(cwnd, counters, now);
                self.begin_reduction();
            }
            if self.tail_deadline().is_some_and(|at| at <= now) {
                self.on_tail_timeout(now);
                return true;
            }
        }
        match self.timer {
            Timer::Retransmit { at } if at <= now => self.on_retransmission_timeout(counters, now),
            Timer::Persist { at, interval } if at <= now => self.timer = Timer::Probe { interval },
            _ => return true,
        }
        self.retries += 1;
        if self.retries == 1 {
            self.stalled_since = now;
        }
        self.retries <= MAX_RETRIES || self.may_wait_longer(now)
    }

    /// RFC 6298 sections 5.4 to 5.6 and RFC 5681 section 3.1.
    fn on_retransmission_timeout(&mut self, counters: &mut TcpCounters, now: Instant) {
        counters.timeouts += 1;
        let cwnd = self.cwnd();
        let flight = match self.recovery.phase() {
            _ if self.tuning.reduction == Reduction::Proportional => cwnd,
            Phase::Open => self.board.outstanding().min(cwnd),
            // Recovery already halved the window for this data, so the threshold must not rise again.
            Phase::Recovery => self.board.outstanding().min(cwnd + cwnd),
            // Data that waits for retransmission is not in flight.
            Phase::Loss => self.board.pipe(),
        };
        self.keep_for_undo(true);
        self.tail = TailProbe::Idle;
        let reduced = self.falling.take().is_some();
        self.congestion.on_timeout(flight, self.retries > 0 || reduced, now);
        self.recovery.on_timeout(&mut self.board, now);
        self.congestion.window_mut().after_timeout(self.board.pipe());
        self.on_reduced();
        self.back_off();
        self.start_timer(now);
    }
}
