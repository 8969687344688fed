//! RACK (RFC 8985 section 6): a segment is lost if a later one was delivered and enough time for reordering has passed.
//! It finds lost retransmissions, and losses in flights too small for three duplicate ACKs. Delivery information comes
//! from the scoreboard, the tail loss probe (section 7) from the sender.
//!
//! After a timeout, segments sent less than a round trip ago do not count as lost yet (Linux `tcp_timeout_mark_lost`).
//!
//! Left out: growth of the reordering window with DSACK. The window stays a quarter of the shortest round trip of the
//! connection.

use super::{Episode, LossRecovery, Phase, Resend, Verdict};
use crate::congestion::AckSample;
use crate::facts::{TcpDescriptor, TcpFacts};
use crate::scoreboard::{DUPLICATE_THRESHOLD, Scoreboard};
use gamelane_core::{ByteCount, Duration, Instant};

/// RACK-TLP in the catalogue.
pub const RACK: TcpDescriptor = TcpDescriptor {
    word: "rack",
    label: "RACK-TLP",
    about: "RACK-TLP (RFC 8985): finds losses by time, and sends a probe for losses at the tail.",
    keys: &[],
    page: "tcp",
    facts: TcpFacts { linux: Some(&[("tcp_sack", "1"), ("tcp_recovery", "1"), ("tcp_early_retrans", "3")]) },
};

/// The reordering timer expires this much later than needed (Linux `TCP_TIMEOUT_MIN_US`).
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// Loss detection by time.
#[derive(Clone, Debug)]
pub struct Rack {
    mss: ByteCount,
    episode: Episode,
    srtt: Option<Duration>,
    /// Time at which doubtful segments count as lost (RACK reordering timer).
    pub(super) deadline: Option<Instant>,
}

impl Rack {
    /// `mss` is the room that `pipe` must leave in the window for a retransmission.
    pub const fn new(mss: ByteCount) -> Self {
        Self {
            mss,
            episode: Episode { phase: Phase::Open, point: 0, duplicate_acks: 0, resend_front: false },
            srtt: None,
            deadline: None,
        }
    }

    /// Reordering window (section 6.2 step 4).
    fn reordering_window(&self, board: &Scoreboard) -> Duration {
        let repairing = self.episode.phase != Phase::Open;
        if !board.has_reordered() && (repairing || board.sacked_segments() >= DUPLICATE_THRESHOLD) {
            return Duration::ZERO;
        }
        let quarter = board.shortest_rtt().unwrap_or_default() / 4;
        quarter.min(self.srtt.unwrap_or(Duration::MAX))
    }

    fn detect(&mut self, board: &mut Scoreboard, now: Instant) -> Verdict {
        let found = board.lose_by_time(self.reordering_window(board), now);
        self.deadline = found.wait.map(|at| at.saturating_add(TIMER_SLACK));
        // After a timeout, only the loss of a retransmission starts fast recovery.
        let starts = match self.episode.phase {
            Phase::Open => found.any,
            Phase::Loss => found.resent,
            Phase::Recovery => false,
        };
        if !starts {
            return Verdict::Unchanged;
        }
        let verdict = self.episode.enter(board);
        self.episode.resend_front = board.front_is_lost();
        verdict
    }

    /// Handles the expiry of the reordering timer.
    pub(super) fn handle_timeout(&mut self, board: &mut Scoreboard, now: Instant) -> Verdict {
        self.deadline = None;
        self.detect(board, now)
    }
}

impl LossRecovery for Rack {
    fn on_ack(&mut self, ack: &AckSample, board: &mut Scoreboard, now: Instant) -> Verdict {
        if let Some(rtt) = ack.rtt {
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        }
        if board.is_empty() {
            self.deadline = None;
        }
        if self.episode.phase != Phase::Open && ack.una >= self.episode.point {
            self.deadline = None;
            let left = self.episode.leave(None);
            let again = board.has_sacked() && self.detect(board, now) == Verdict::Entered;
            return if again { Verdict::Again } else { left };
        }
        let news = ack.acked > ByteCount::ZERO || ack.sacked > ByteCount::ZERO;
        let waits = board.has_sacked() || self.episode.phase != Phase::Open || self.deadline.is_some();
        if !news || !waits {
            return Verdict::Unchanged;
        }
        self.detect(board, now)
    }

    fn window(&self, cwnd: ByteCount) -> ByteCount {
        cwnd
    }

    fn in_flight(&self, board: &Scoreboard) -> ByteCount {
        board.pipe()
    }

    fn next_resend(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        match self.episode.phase {
            Phase::Open => None,
            Phase::Loss | Phase::Recovery => {
                if let Some(front) = self.episode.take_front(board, true) {
                    return Some(front);
                }
                if board.pipe() + self.mss > cwnd {
                    return None;
                }
                board.next_lost_by_time().map(Resend::lowest)
            }
        }
    }

    fn last_resort(&mut self, _board: &mut Scoreboard, _cwnd: ByteCount) -> Option<Resend> {
        None
    }

    fn restarts_timer(&self) -> bool {
        true
    }

    fn episode(&self) -> &Episode {
        &self.episode
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, now: Instant) {
        self.deadline = None;
        board.lose_old(now);
        self.episode.time_out(board);
    }

    fn on_spurious_timeout(&mut self) {
        self.episode.leave(None);
    }
}
