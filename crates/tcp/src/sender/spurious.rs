//! Finding out that a repair was not needed, and taking its price back: reports of duplicates (RFC 2883, with Linux's undo of
//! an episode all of whose retransmissions were reported) and F-RTO (RFC 5682 section 2.1, the basic algorithm, for a timeout
//! outside any recovery). The window returns to what it was; RFC 4015's further care is left out.

use super::Sender;
use crate::congestion::{AckSample, Congestion, CongestionControl};
use crate::observe::TcpCounters;
use crate::recovery::{LossRecovery, Phase};
use crate::segment::Segment;
use gamelane_core::ByteCount;

/// What is kept of the latest reduction.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// The window rule as it was before; `None` once taken back, or if nobody asked to keep it.
    before: Option<Congestion>,
    /// Retransmissions since, less those reported as duplicates.
    unexplained: u32,
    pub(super) probe: ForwardProbe,
}

/// Where F-RTO stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ForwardProbe {
    #[default]
    Off,
    /// Step 1: the timer expired; one segment is sent again.
    Expired,
    /// Step 2: it was; the next ACK decides whether to go on.
    Resent,
    /// Step 3: so many new segments may go; the next ACK gives the answer.
    Forward { left: u8 },
}

/// RFC 5682 section 2.1 step 2b.
const NEW_SEGMENTS: u8 = 2;
/// Step 3a: the window of a timeout that was needed after all.
const NEEDED_WINDOW: u64 = 3;

impl Sender {
    /// The window is about to be reduced.
    pub(super) fn keep_for_undo(&mut self, timeout: bool) {
        self.undo.probe = ForwardProbe::Off;
        if !self.tuning.duplicate_sack && !self.tuning.forward_rto {
            return;
        }
        if self.recovery.phase() == Phase::Open || !timeout {
            self.undo.before = Some(self.congestion.clone());
            self.undo.unexplained = 0;
            if timeout && self.tuning.forward_rto {
                self.undo.probe = ForwardProbe::Expired;
            }
        } else {
            self.undo.before = None;
        }
    }

    /// False while F-RTO waits for an ACK.
    pub(super) fn may_resend(&self) -> bool {
        matches!(self.undo.probe, ForwardProbe::Off | ForwardProbe::Expired)
    }

    /// False once F-RTO has sent its two new segments.
    pub(super) fn may_send_new(&self) -> bool {
        self.undo.probe != ForwardProbe::Forward { left: 0 }
    }

    pub(super) fn note_resent(&mut self) {
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

    /// The first block is a duplicate if it lies below the ACK or inside the second (RFC 2883 section 4).
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
            if self.undo.unexplained == 0 {
                self.take_back();
            }
        }
    }

    /// F-RTO looks at an ACK before recovery does.
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
                self.board.unmark_lost();
                self.recovery.on_spurious_timeout();
                self.take_back();
                ForwardProbe::Off
            }
            ForwardProbe::Forward { .. } => {
                self.congestion.limit(ByteCount(NEEDED_WINDOW * self.mss));
                ForwardProbe::Off
            }
            _ => ForwardProbe::Off,
        };
    }

    fn take_back(&mut self) {
        if let Some(before) = self.undo.before.take().filter(|old| old.cwnd() > self.congestion.cwnd()) {
            self.congestion = before;
        }
    }
}
