//! Special rules for thin streams; each is switched on in [`TcpTuning`](crate::TcpTuning). A stream is thin if few
//! segments are in flight and its first slow start is over (Linux 6.1 `tcp_stream_is_thin`). The modified timeout of
//! griwodz2006 is left to `timer::modified`.

use super::Sender;
use super::timers::GIVE_UP_AFTER;
use crate::congestion::CongestionControl;
use crate::scoreboard::DUPLICATE_THRESHOLD;
use gamelane_core::Instant;

/// Timeouts in a row without back-off (Linux `TCP_THIN_LINEAR_RETRIES`).
const LINEAR_RETRIES: u32 = 6;

impl Sender {
    /// True if too few segments are in flight to get three duplicate ACKs.
    pub(super) fn is_thin(&self) -> bool {
        self.board.len() < self.tuning.thin_below as usize && self.congestion.ssthresh().bytes() < u64::MAX
    }

    /// Number of duplicate ACKs in a row that signal a loss. RFC 5827 section 3.2 in its segment-based form.
    #[inline]
    pub(super) fn duplicate_threshold(&self) -> u32 {
        let outstanding = self.board.len();
        if self.tuning.single_duplicate_ack && self.is_thin() {
            1
        } else if self.tuning.early_retransmit && (2..4).contains(&outstanding) && !self.has_sendable_data() {
            outstanding as u32 - 1
        } else {
            DUPLICATE_THRESHOLD
        }
    }

    /// True if there is new data (or a FIN) and the peer's window has room for it.
    pub(super) fn has_sendable_data(&self) -> bool {
        let next = self.board.next();
        let fin_due = self.outbox.is_closing() && !self.fin_sent;
        (self.outbox.unsent(next) > 0 || fin_due) && self.window.edge > next
    }

    /// Doubles the timeout after an expiry, unless a rule for thin streams applies.
    pub(super) fn back_off(&mut self) {
        if self.tuning.linear_timeouts && self.retries < LINEAR_RETRIES && self.is_thin() {
            self.timeout.stay();
        } else if self.timeout.steady_rto(self.board.len()).is_none() {
            self.timeout.back_off();
        }
    }

    /// True if a timer without back-off may continue. It gives up after a time, not after a number of timeouts (Linux
    /// `retransmits_timed_out`).
    pub(super) fn may_wait_longer(&self, now: Instant) -> bool {
        let steady = self.timeout.steady_rto(self.board.len()).is_some();
        steady && now.saturating_since(self.stalled_since) < GIVE_UP_AFTER
    }
}
