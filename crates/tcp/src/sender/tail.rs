//! The tail loss probe (RFC 8985 section 7), used with RACK. Two round trips after the last segment of a flight, before
//! the retransmission timer, the sender sends a probe. The probe triggers a SACK that shows what was lost, or it
//! repairs the last segment itself. For a single segment, Linux's 200 ms for a delayed ACK are added. A probe is never
//! sent later than a timeout after the last ACK. A new segment moves this bound to a timeout after the first outstanding
//! segment was sent, unless that has passed (Linux `tcp_schedule_loss_probe`).

use super::{Sender, Timer};
use crate::congestion::AckSample;
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
/// What is added with more than one segment in flight (Linux `TCP_TIMEOUT_MIN_US`).
const MIN_MARGIN: Duration = Duration::from_millis(2);
/// Wait before the first round-trip sample (section 7.2).
const UNSAMPLED: Duration = Duration::from_secs(1);

impl Sender {
    /// Schedules a probe after an ACK (section 7.2).
    #[inline]
    pub(super) fn arm_tail_probe(&mut self, now: Instant) {
        if matches!(self.recovery, Recovery::Rack(_)) {
            let bound = if let Timer::Retransmit { at } = self.timer { at } else { Instant::MAX };
            self.arm(bound, now);
        }
    }

    /// Schedules a probe after new data.
    #[inline]
    pub(super) fn arm_tail_probe_after_sending(&mut self, now: Instant) {
        if let (Recovery::Rack(_), Some(first)) = (&self.recovery, self.board.front()) {
            let bound = first.sent_at.saturating_add(self.timeout.rto());
            self.arm(if bound > now { bound } else { Instant::MAX }, now);
        }
    }

    fn arm(&mut self, bound: Instant, now: Instant) {
        if matches!(self.tail, TailProbe::Sent { .. } | TailProbe::Due) {
            return;
        }
        self.tail = TailProbe::Idle;
        if self.board.is_empty() || self.recovery.phase() != Phase::Open || self.board.has_sacked() {
            return;
        }
        let wait = self.timeout.srtt().map_or(UNSAMPLED, |srtt| srtt.saturating_mul(2));
        let delay = if self.board.len() == 1 { MAX_ACK_DELAY } else { MIN_MARGIN };
        let at = now.saturating_add(wait).saturating_add(delay).min(bound);
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
            self.reduce(flight.min(self.cwnd()), false, now);
            // The loss is repaired already, so nothing has to fall over a round trip.
            self.falling = None;
        }
    }
}
