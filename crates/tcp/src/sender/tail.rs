//! The tail loss probe (RFC 8985 section 7), part of the RACK row: two round trips after the last segment of a flight, well
//! before the timer, a probe draws the SACK that tells what was lost, or repairs the last segment itself. The allowance for a
//! delayed ACK of a single segment is Linux's 200 ms, and never is a probe later than the timer would be.

use super::{Sender, Timer};
use crate::congestion::{AckSample, CongestionControl};
use crate::observe::TcpCounters;
use crate::recovery::{Phase, Recovery};
use crate::segment::Segment;
use gamelane_core::{ByteCount, Duration, Instant};

/// Where the probe of the present tail stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailProbe {
    #[default]
    Idle,
    Armed {
        at: Instant,
    },
    /// The next poll sends it.
    Due,
    /// Sent; over once this offset is acknowledged (`TLP.end_seq`).
    Sent {
        end: u64,
        retransmission: bool,
    },
}

/// Longest a peer may wait with an ACK for one segment (`TLP.max_ack_delay`).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Section 7.2, before the first round-trip sample.
const UNSAMPLED: Duration = Duration::from_secs(1);

impl Sender {
    /// Section 7.2: after new data and after an ACK.
    #[inline]
    pub(super) fn arm_tail_probe(&mut self, now: Instant) {
        if matches!(self.recovery, Recovery::Rack(_)) {
            self.arm(now);
        }
    }

    fn arm(&mut self, now: Instant) {
        if matches!(self.tail, TailProbe::Sent { .. } | TailProbe::Due) {
            return;
        }
        self.tail = TailProbe::Idle;
        let Timer::Retransmit { at: timeout } = self.timer else { return };
        if self.board.is_empty() || self.recovery.phase() != Phase::Open || self.board.has_sacked() {
            return;
        }
        let wait = self.timeout.srtt().map_or(UNSAMPLED, |srtt| srtt.saturating_mul(2));
        let delay = if self.board.len() == 1 { MAX_ACK_DELAY } else { Duration::ZERO };
        let at = now.saturating_add(wait).saturating_add(delay).min(timeout);
        self.tail = TailProbe::Armed { at };
    }

    pub(super) const fn tail_deadline(&self) -> Option<Instant> {
        match self.tail {
            TailProbe::Armed { at } => Some(at),
            _ => None,
        }
    }

    /// The probe's time has come. The timer starts again, so it does not fire at the same instant.
    pub(super) fn on_tail_timeout(&mut self, now: Instant) {
        self.tail = TailProbe::Due;
        self.start_timer(now);
    }

    /// Section 7.3: new data if there is some, else the last segment once more. Gives the segment to resend.
    pub(super) fn settle_probe(&mut self, sent_new: bool, counters: &mut TcpCounters) -> Option<usize> {
        self.tail = TailProbe::Idle;
        let last = if sent_new { None } else { self.board.last_unsacked() };
        if self.board.is_empty() || !sent_new && last.is_none() {
            return None;
        }
        counters.tail_probes += 1;
        self.tail = TailProbe::Sent { end: self.board.next(), retransmission: !sent_new };
        last
    }

    /// Section 7.4.2: was the probe needed? If it repaired the last segment the window comes down as for any loss.
    pub(super) fn judge_probe(&mut self, ack: &AckSample, segment: &Segment, now: Instant) {
        let TailProbe::Sent { end, retransmission } = self.tail else { return };
        if self.recovery.phase() != Phase::Open {
            self.tail = TailProbe::Idle;
            return;
        }
        if ack.una < end {
            return;
        }
        let reported = segment.sack_blocks().next().is_some_and(|block| block.end == end);
        if !retransmission || reported || ack.acked == ByteCount::ZERO {
            self.tail = TailProbe::Idle;
        } else if ack.una > end {
            self.tail = TailProbe::Idle;
            let flight = self.board.outstanding() + ack.acked;
            self.congestion.on_congestion(flight.min(self.congestion.cwnd()), now);
            self.on_reduced();
        }
    }
}
