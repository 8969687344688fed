//! The tail loss probe (RFC 8985 section 7), used with RACK. Two round trips after the last segment of a flight, before
//! the retransmission timer, the sender sends a probe. The probe triggers a SACK that shows what was lost, or it
//! repairs the last segment itself. For a single segment, Linux's 200 ms for a delayed ACK are added. A probe is never
//! sent later than the timer would expire.

use super::{Sender, Timer};
use crate::congestion::{AckSample, CongestionControl};
use crate::observe::TcpCounters;
use crate::recovery::{Phase, Recovery};
use crate::segment::Segment;
use gamelane_core::{ByteCount, Duration, Instant};

/// State of the probe for the current tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailProbe {
    #[default]
    Idle,
    Armed {
        at: Instant,
    },
    /// The next poll sends the probe.
    Due,
    /// The probe was sent. It is complete when offset `end` is acknowledged (`TLP.end_seq`).
    Sent {
        end: u64,
        retransmission: bool,
    },
}

/// Maximum time that the peer delays the ACK of a single segment (`TLP.max_ack_delay`).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Wait before the first round-trip sample (section 7.2).
const UNSAMPLED: Duration = Duration::from_secs(1);

impl Sender {
    /// Schedules a probe after new data and after an ACK (section 7.2).
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

    /// The probe is due. The retransmission timer is restarted, so that it does not expire at the same time.
    pub(super) fn on_tail_timeout(&mut self, now: Instant) {
        self.tail = TailProbe::Due;
        self.start_timer(now);
    }

    /// Decides what the probe is (section 7.3): new data if there was some, otherwise the last segment. Returns the
    /// index of the segment to send again.
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

    /// Ends the probe (section 7.4.2). If the probe repaired the last segment, the window is reduced as for any loss.
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
