//! What the sender does differently for thin streams, each only if [`TcpTuning`](crate::TcpTuning) asks for it. A stream is thin, as
//! in Linux 6.1 `tcp_stream_is_thin`, with few segments in flight and its first slow start behind it.

use super::Sender;
use super::timers::GIVE_UP_AFTER;
use crate::congestion::CongestionControl;
use crate::scoreboard::DUPLICATE_THRESHOLD;
use gamelane_core::Instant;

/// Linux `TCP_THIN_LINEAR_RETRIES`: timeouts in a row without back-off.
const LINEAR_RETRIES: u32 = 6;

impl Sender {
    /// Too few segments in flight for three duplicate ACKs.
    pub(super) fn is_thin(&self) -> bool {
        self.board.len() < self.tuning.thin_below as usize && self.congestion.ssthresh().bytes() < u64::MAX
    }

    /// Duplicate ACKs in a row that mean a loss, as things stand (RFC 5827 section 3.2 counts segments).
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

    /// Something new could go as far as the peer's window is concerned.
    pub(super) fn has_sendable_data(&self) -> bool {
        let next = self.board.next();
        let fin_due = self.outbox.is_closing() && !self.fin_sent;
        (self.outbox.unsent(next) > 0 || fin_due) && self.window.edge > next
    }

    /// The timer expired: the next timeout is twice as long, unless a rule for thin streams says otherwise.
    pub(super) fn back_off(&mut self) {
        if self.tuning.linear_timeouts && self.retries < LINEAR_RETRIES && self.is_thin() {
            self.timeout.stay();
        } else if self.timeout.steady_rto(self.board.len()).is_none() {
            self.timeout.back_off();
        }
    }

    /// A count of timeouts says nothing where they do not grow; time does (Linux, `retransmits_timed_out`).
    pub(super) fn may_wait_longer(&self, now: Instant) -> bool {
        let steady = self.timeout.steady_rto(self.board.len()).is_some();
        steady && now.saturating_since(self.stalled_since) < GIVE_UP_AFTER
    }
}
