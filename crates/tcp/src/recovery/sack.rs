//! SACK-based recovery (RFC 6675): start and end of recovery (section 5) and the choice of `NextSeg` (section 4).
//! `IsLost` and `pipe` are in the scoreboard. Left out: detection of lost retransmissions; they wait for the timer.

use super::{Episode, LossRecovery, Phase, Resend, Verdict, fack};
use crate::congestion::AckSample;
use crate::facts::{TcpDescriptor, TcpFacts};
use crate::scoreboard::Scoreboard;
use gamelane_core::{ByteCount, Instant};

/// SACK in the catalogue.
pub const SACK: TcpDescriptor = TcpDescriptor {
    word: "sack",
    label: "SACK",
    about: "SACK (RFC 6675): finds all losses that selective acknowledgements show.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_sack", "1"), ("tcp_recovery", "0"), ("tcp_early_retrans", "0")]) },
};

/// Rule by which a segment counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Enough data above it was SACKed: `IsLost` of RFC 6675.
    Counted,
    /// It is far below the highest SACKed segment: FACK.
    Forward,
}

/// SACK-based recovery.
#[derive(Clone, Debug)]
pub struct Sack {
    detection: Detection,
    mss: ByteCount,
    limited_transmit: bool,
    episode: Episode,
    /// The single rescue retransmission of this recovery was used (`RescueRxt`).
    rescued: bool,
}

impl Sack {
    /// `mss` is the room that `pipe` must leave in the window for a retransmission.
    pub const fn new(detection: Detection, mss: ByteCount, limited_transmit: bool) -> Self {
        Self {
            detection,
            mss,
            limited_transmit,
            episode: Episode { phase: Phase::Open, point: 0, duplicate_acks: 0, resend_front: false },
            rescued: false,
        }
    }

    fn detect_losses(&self, board: &mut Scoreboard) {
        match self.detection {
            Detection::Counted => board.detect_losses(self.mss),
            Detection::Forward => fack::detect_losses(board),
        }
    }

    fn has_room(&self, board: &Scoreboard, cwnd: ByteCount) -> bool {
        board.pipe() + self.mss <= cwnd
    }
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, ack: &AckSample, board: &mut Scoreboard, _now: Instant) -> Verdict {
        match self.episode.phase {
            Phase::Open => {
                if ack.acked > ByteCount::ZERO {
                    self.episode.duplicate_acks = 0;
                } else if ack.sacked > ByteCount::ZERO {
                    // Section 2: an ACK is a duplicate here if it has new SACK information, whatever its number.
                    self.episode.duplicate_acks += 1;
                }
                if ack.sacked == ByteCount::ZERO && !board.has_sacked() {
                    return Verdict::Unchanged;
                }
                self.detect_losses(board);
                if self.episode.duplicate_acks >= ack.duplicate_threshold || board.front_is_lost() {
                    board.mark_lost(0);
                    self.rescued = false;
                    return self.episode.enter(board);
                }
                Verdict::Unchanged
            }
            Phase::Recovery | Phase::Loss if ack.una >= self.episode.point => self.episode.leave(None),
            Phase::Recovery => {
                self.detect_losses(board);
                Verdict::Unchanged
            }
            Phase::Loss => Verdict::Unchanged,
        }
    }

    fn window(&self, cwnd: ByteCount) -> ByteCount {
        cwnd
    }

    fn in_flight(&self, board: &Scoreboard) -> ByteCount {
        // Section 5 step 3: before recovery, limited transmit may send as much as `pipe` allows.
        let outstanding = self.episode.phase == Phase::Open && !self.limited_transmit;
        if outstanding { board.outstanding() } else { board.pipe() }
    }

    fn next_resend(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        match self.episode.phase {
            Phase::Open => None,
            Phase::Loss => Episode::resend_lost(board, cwnd),
            Phase::Recovery => {
                if let Some(front) = self.episode.take_front(board, true) {
                    return Some(front);
                }
                if !self.has_room(board, cwnd) {
                    return None;
                }
                board.next_lost().map(Resend::lowest)
            }
        }
    }

    fn last_resort(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        if self.episode.phase != Phase::Recovery || !self.has_room(board, cwnd) {
            return None;
        }
        if let Some(index) = board.next_below_sacked() {
            return Some(Resend::lowest(index));
        }
        if core::mem::replace(&mut self.rescued, true) {
            return None;
        }
        board.last_unsacked().map(|index| Resend { in_order: false, ..Resend::lowest(index) })
    }

    fn restarts_timer(&self) -> bool {
        true
    }

    fn episode(&self) -> &Episode {
        &self.episode
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _now: Instant) {
        board.mark_all_lost();
        self.episode.time_out(board);
    }

    fn on_spurious_timeout(&mut self) {
        self.episode.leave(None);
    }
}
