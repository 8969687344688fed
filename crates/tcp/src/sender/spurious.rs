//! Detects spurious retransmissions and undoes the window reduction. DSACK (RFC 2883): Linux undoes a recovery if all
//! its retransmissions were reported as duplicates. Eifel (RFC 3522): an ACK that echoes a time before the first
//! retransmission answers the original. F-RTO (RFC 5682 section 2.1, the basic algorithm): only for a timeout outside
//! any recovery. The old window is restored; the more careful response of RFC 4015 is left out.

use super::Sender;
use crate::congestion::{AckSample, Congestion, CongestionControl};
use crate::observe::TcpCounters;
use crate::recovery::{LossRecovery, Phase};
use crate::segment::Segment;
use gamelane_core::{ByteCount, Duration, Instant};

/// State needed to undo the latest window reduction.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// Congestion control before the reduction; `None` after an undo, or if undo is not configured.
    before: Option<Congestion>,
    /// Retransmissions since the reduction, minus those reported as duplicates.
    unexplained: u32,
    /// Time of the first retransmission of this repair (Linux `retrans_stamp`).
    first_resent: Option<Instant>,
    pub(super) probe: ForwardProbe,
}

/// State of F-RTO; the steps are those of RFC 5682 section 2.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ForwardProbe {
    #[default]
    Off,
    /// Step 1: the timer expired, and one segment is to be sent again.
    Expired,
    /// Step 2: that segment was sent; the next ACK decides whether to probe.
    Resent,
    /// Step 3: `left` new segments may be sent; the next ACK gives the result.
    Forward { left: u8 },
}

/// New segments sent as a probe (RFC 5682 section 2.1 step 2b).
const NEW_SEGMENTS: u8 = 2;
/// Congestion window in segments after a timeout that was necessary (step 3a).
const NEEDED_WINDOW: u64 = 3;

impl Sender {
    /// Saves the congestion control state before a reduction.
    pub(super) fn keep_for_undo(&mut self, timeout: bool) {
        self.undo.probe = ForwardProbe::Off;
        if !self.tuning.duplicate_sack && !self.tuning.forward_rto && !self.tuning.eifel {
            return;
        }
        if self.recovery.phase() == Phase::Open || !timeout {
            self.note_repaired();
            self.undo.before = Some(self.congestion.clone());
            self.undo.unexplained = self.board.resent_in_flight();
            if timeout && self.tuning.forward_rto {
                self.undo.probe = ForwardProbe::Expired;
            }
        }
    }

    /// False while F-RTO waits for an ACK.
    pub(super) fn may_resend(&self) -> bool {
        matches!(self.undo.probe, ForwardProbe::Off | ForwardProbe::Expired)
    }

    /// False after F-RTO has sent its two new segments.
    pub(super) fn may_send_new(&self) -> bool {
        self.undo.probe != ForwardProbe::Forward { left: 0 }
    }

    pub(super) fn note_resent(&mut self, now: Instant) {
        if self.recovery.phase() != Phase::Open {
            self.undo.first_resent.get_or_insert(now);
        }
        self.undo.unexplained = self.undo.unexplained.saturating_add(1);
        if self.undo.probe == ForwardProbe::Expired {
            self.undo.probe = ForwardProbe::Resent;
        }
    }

    pub(super) fn note_new(&mut self) {
        if let ForwardProbe::Forward { left } = &mut self.undo.probe {
            *left -= 1;
        }
    }

    /// Handles a SACK option. The first block reports a duplicate if it is below the ACK or inside the second block
    /// (RFC 2883 section 4).
    pub(super) fn take_duplicate_report(&mut self, segment: &Segment, counters: &mut TcpCounters) {
        let mut blocks = segment.sack_blocks();
        let Some(first) = blocks.next() else { return };
        let nested = blocks.next().is_some_and(|outer| outer.start <= first.start && first.end <= outer.end);
        let known = counters.spurious_retransmissions >= counters.retransmissions();
        if known || first.end > segment.ack && !nested {
            return;
        }
        counters.spurious_retransmissions += 1;
        if self.undo.unexplained > 0 {
            self.undo.unexplained -= 1;
            if self.undo.unexplained == 0 && self.undo.before.is_some() {
                self.take_back();
                // What still counts as lost starts a new recovery (Linux `tcp_try_undo_dsack`, `tcp_try_to_open`).
                if self.recovery.phase() == Phase::Recovery {
                    self.recovery.on_spurious_timeout();
                }
            }
        }
    }

    /// Compares the time that an ACK of new data echoes with the first retransmission. Both are in milliseconds, as the
    /// peer got them.
    pub(super) fn compare_timestamps(
        &mut self,
        echo: Option<Duration>,
        counters: &mut TcpCounters,
        now: Instant,
    ) {
        let (Some(age), Some(first)) = (echo, self.undo.first_resent) else { return };
        if self.recovery.phase() == Phase::Open || self.undo.before.is_none() {
            return;
        }
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        if millis(now).saturating_sub(age.as_nanos() / 1_000_000) < millis(first) {
            // Linux `tcp_try_undo_partial` waits until no retransmission is on the way.
            let partial = self.board.una() < self.recovery.episode().point;
            if self.recovery.phase() == Phase::Recovery && partial && self.board.resent_in_flight() > 0 {
                return;
            }
            counters.spurious_timeouts += u64::from(self.recovery.phase() == Phase::Loss);
            self.undo.probe = ForwardProbe::Off;
            self.end_repair();
        }
    }

    /// Notes that the repair is complete. The time of its first retransmission counts on while a retransmission is
    /// on the way (Linux `tcp_retrans_stamp_cleanup`).
    pub(super) fn note_repaired(&mut self) {
        if self.board.front().is_none_or(|front| !front.ambiguous) && self.board.resent_in_flight() == 0 {
            self.undo.first_resent = None;
        }
    }

    /// Ends a repair that was not needed: nothing counts as lost, and the window is the old one.
    fn end_repair(&mut self) {
        self.board.unmark_lost();
        self.recovery.on_spurious_timeout();
        self.note_repaired();
        self.take_back();
    }

    /// Runs F-RTO on an ACK, before recovery sees it.
    pub(super) fn probe_forward(&mut self, ack: &AckSample, counters: &mut TcpCounters) {
        let advances = ack.acked > ByteCount::ZERO;
        if !advances && !ack.duplicate {
            return;
        }
        let complete = ack.una >= self.recovery.episode().point;
        self.undo.probe = match self.undo.probe {
            ForwardProbe::Resent if advances && !complete && self.has_sendable_data() => {
                ForwardProbe::Forward { left: NEW_SEGMENTS }
            }
            ForwardProbe::Forward { .. } if advances => {
                counters.spurious_timeouts += 1;
                self.end_repair();
                ForwardProbe::Off
            }
            ForwardProbe::Forward { .. } => {
                self.congestion.window_mut().limit(ByteCount(NEEDED_WINDOW * self.mss));
                ForwardProbe::Off
            }
            _ => ForwardProbe::Off,
        };
    }

    fn take_back(&mut self) {
        if let Some(before) = self.undo.before.take().filter(|old| old.cwnd() > self.cwnd()) {
            self.congestion = before;
            self.falling = None;
        }
    }
}
