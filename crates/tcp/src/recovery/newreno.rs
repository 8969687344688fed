//! NewReno recovery without SACK (RFC 6582 section 3.2 with RFC 5681 section 3.2 and RFC 3042): duplicate and partial
//! ACKs repair one hole per round trip, in the "impatient" variant. Left out: the heuristics of section 4 for duplicate
//! ACKs at exactly `recover`.

use super::{Episode, LossRecovery, Phase, Resend, Verdict};
use crate::congestion::AckSample;
use crate::facts::{TcpDescriptor, TcpFacts};
use crate::scoreboard::Scoreboard;
use gamelane_core::{ByteCount, Instant};

/// NewReno in the catalogue.
pub const NEWRENO: TcpDescriptor = TcpDescriptor {
    word: "newreno",
    label: "NewReno",
    about: "NewReno (RFC 6582): finds losses from duplicate ACKs alone, one per round trip.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_sack", "0"), ("tcp_recovery", "0"), ("tcp_early_retrans", "0")]) },
};

/// Fast retransmit and fast recovery without SACK.
#[derive(Clone, Debug)]
pub struct NewReno {
    mss: i64,
    limited_transmit: bool,
    episode: Episode,
    /// Inflation of the window: one segment for each that left the network, minus the deflation by partial ACKs.
    inflation: i64,
    /// Partial ACKs in this recovery. Only the first one restarts the timer.
    partial_acks: u32,
}

impl NewReno {
    /// `mss` is the step of window inflation.
    pub const fn new(mss: ByteCount, limited_transmit: bool) -> Self {
        Self {
            mss: mss.bytes() as i64,
            limited_transmit,
            episode: Episode { phase: Phase::Open, point: 0, duplicate_acks: 0, resend_front: false },
            inflation: 0,
            partial_acks: 0,
        }
    }

    fn on_duplicate(&mut self, ack: &AckSample, board: &mut Scoreboard) -> Verdict {
        match self.episode.phase {
            Phase::Open => {
                self.episode.duplicate_acks += 1;
                // Step 2: duplicates of retransmissions from the last window must not start another recovery.
                if self.episode.duplicate_acks >= ack.duplicate_threshold && ack.una > self.episode.point {
                    self.inflation = i64::from(ack.duplicate_threshold) * self.mss;
                    self.partial_acks = 0;
                    return self.episode.enter(board);
                }
                if self.limited_transmit {
                    self.inflation = i64::from(self.episode.duplicate_acks.min(2)) * self.mss;
                }
            }
            Phase::Recovery => self.inflation += self.mss,
            // A segment has left the network, so a new one may be sent. Lost segments wait for the window only.
            Phase::Loss if self.limited_transmit => {
                self.episode.duplicate_acks += 1;
                self.inflation = i64::from(self.episode.duplicate_acks.min(2)) * self.mss;
            }
            Phase::Loss => {}
        }
        Verdict::Unchanged
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, ack: &AckSample, board: &mut Scoreboard, _now: Instant) -> Verdict {
        if ack.duplicate {
            return self.on_duplicate(ack, board);
        }
        if ack.acked == ByteCount::ZERO {
            return Verdict::Unchanged;
        }
        self.episode.duplicate_acks = 0;
        match self.episode.phase {
            Phase::Open => {
                self.inflation = 0;
                Verdict::Unchanged
            }
            Phase::Recovery if ack.una < self.episode.point => {
                let acked = ack.acked.bytes() as i64;
                self.inflation -= acked;
                if acked >= self.mss {
                    self.inflation += self.mss;
                }
                self.partial_acks += 1;
                self.episode.resend_front = true;
                Verdict::Unchanged
            }
            Phase::Recovery => {
                self.inflation = 0;
                let flight = board.outstanding().max(ByteCount(self.mss as u64));
                self.episode.leave(Some(flight + ByteCount(self.mss as u64)))
            }
            Phase::Loss => {
                self.inflation = 0;
                if ack.una < self.episode.point { Verdict::Unchanged } else { self.episode.leave(None) }
            }
        }
    }

    fn window(&self, cwnd: ByteCount) -> ByteCount {
        ByteCount((cwnd.bytes() as i64).saturating_add(self.inflation).max(self.mss) as u64)
    }

    fn in_flight(&self, board: &Scoreboard) -> ByteCount {
        match self.episode.phase {
            // The window was inflated for segments that left the network, so all outstanding data counts.
            Phase::Recovery => board.outstanding(),
            Phase::Open | Phase::Loss => board.pipe(),
        }
    }

    fn next_resend(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        match self.episode.phase {
            Phase::Open => None,
            Phase::Recovery => self.episode.take_front(board, self.partial_acks == 0),
            Phase::Loss => Episode::resend_lost(board, cwnd),
        }
    }

    fn last_resort(&mut self, _board: &mut Scoreboard, _cwnd: ByteCount) -> Option<Resend> {
        None
    }

    fn restarts_timer(&self) -> bool {
        self.episode.phase != Phase::Recovery || self.partial_acks <= 1
    }

    fn episode(&self) -> &Episode {
        &self.episode
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _now: Instant) {
        self.inflation = 0;
        board.mark_all_lost();
        self.episode.time_out(board);
    }

    fn on_spurious_timeout(&mut self) {
        self.episode.leave(None);
    }
}
