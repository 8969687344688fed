//! Loss recovery: when data counts as lost, and what is sent again. Each row of [`crate::RecoveryKind`] works on one
//! [`Scoreboard`]. What follows a timeout is the same for all and is in this file. The reduction of the window is left
//! to [`crate::congestion`].

mod fack;
mod newreno;
mod rack;
mod sack;

pub use fack::FACK;
pub use newreno::{NEWRENO, NewReno};
pub use rack::{RACK, Rack};
pub use sack::{Detection, SACK, Sack};

use crate::config::RecoveryKind;
use crate::congestion::AckSample;
use crate::scoreboard::Scoreboard;
use gamelane_core::{ByteCount, Instant};

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery, until all data outstanding at its start is acknowledged.
    Recovery,
    /// Slow start after a timeout, until all data outstanding at its start is acknowledged.
    Loss,
}

/// Result of an ACK for recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The phase is unchanged.
    Unchanged,
    /// Fast recovery begins; the window must be reduced.
    Entered,
    /// The repair is complete, and fast recovery begins again at once: segments sent during it count as lost.
    Again,
    /// Fast recovery or the repair after a timeout is complete. If `limit` is given, the window must not be larger.
    Left {
        /// Limit that avoids a burst.
        limit: Option<ByteCount>,
    },
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// Index in the scoreboard.
    pub index: usize,
    /// True for the lowest segment, as usual; false for a rescue (RFC 6675 section 4, `NextSeg` rule 4).
    pub in_order: bool,
    /// Restarts the retransmission timer. Only the first retransmission of a recovery does, as in Linux; RFC 6675
    /// section 6 would allow all.
    pub restarts_timer: bool,
}

impl Resend {
    const fn lowest(index: usize) -> Self {
        Self { index, in_order: true, restarts_timer: false }
    }
}

/// A recovery method. `cwnd` is the window of congestion control.
pub trait LossRecovery {
    /// Handles an ACK, after the scoreboard has handled it.
    fn on_ack(&mut self, ack: &AckSample, board: &mut Scoreboard, now: Instant) -> Verdict;
    /// Window for sending: `cwnd` plus what the method adds to it.
    fn window(&self, cwnd: ByteCount) -> ByteCount;
    /// Bytes that count against that window.
    fn in_flight(&self, board: &Scoreboard) -> ByteCount;
    /// Returns the segment to send again before new data.
    fn next_resend(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend>;
    /// Returns the segment to send again if there is no new data.
    fn last_resort(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend>;
    /// True if an ACK of new data restarts the retransmission timer.
    fn restarts_timer(&self) -> bool;
    /// State that all methods have.
    fn episode(&self) -> &Episode;
    /// Handles a retransmission timeout.
    fn on_timeout(&mut self, board: &mut Scoreboard, now: Instant);
    /// Ends the repair after a spurious timeout.
    fn on_spurious_timeout(&mut self);
}

/// State that all methods have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Episode {
    /// Phase of loss recovery.
    pub phase: Phase,
    /// Offset whose acknowledgement ends recovery (RFC 6582 `recover` plus one, RFC 6675 `RecoveryPoint`).
    pub point: u64,
    /// Number of duplicate ACKs in a row.
    pub duplicate_acks: u32,
    /// The oldest segment must be sent again at once, regardless of the window.
    resend_front: bool,
}

impl Episode {
    fn enter(&mut self, board: &mut Scoreboard) -> Verdict {
        self.phase = Phase::Recovery;
        self.point = board.next();
        self.resend_front = true;
        board.restart_resending();
        Verdict::Entered
    }

    fn leave(&mut self, limit: Option<ByteCount>) -> Verdict {
        self.phase = Phase::Open;
        self.duplicate_acks = 0;
        self.resend_front = false;
        Verdict::Left { limit }
    }

    /// Returns the forced retransmission of the oldest segment, once.
    fn take_front(&mut self, board: &Scoreboard, restarts_timer: bool) -> Option<Resend> {
        let due = core::mem::take(&mut self.resend_front) && !board.front()?.sacked;
        due.then_some(Resend { restarts_timer, ..Resend::lowest(0) })
    }

    /// Starts the repair after a timeout: slow start over all outstanding data.
    fn time_out(&mut self, board: &Scoreboard) {
        *self = Self { phase: Phase::Loss, point: board.next(), duplicate_acks: 0, resend_front: false };
    }

    /// Returns the next lost segment if the window has room for it (slow start after a timeout).
    fn resend_lost(board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        let index = board.next_lost()?;
        // Only the payload counts, so that a full segment with FIN fits into a window of one segment.
        let len = ByteCount(board.weight().of(u64::from(board.segment(index).payload())));
        (board.pipe() + len <= cwnd).then(|| Resend::lowest(index))
    }
}

/// The configured recovery method.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// RFC 6582.
    NewReno(NewReno),
    /// RFC 6675, or FACK on top of it.
    Sack(Sack),
    /// RFC 8985.
    Rack(Rack),
}

impl Recovery {
    /// The method of this `kind`. `limited_transmit` enables RFC 3042.
    pub const fn new(kind: RecoveryKind, mss: ByteCount, limited_transmit: bool) -> Self {
        match kind {
            RecoveryKind::NewReno => Self::NewReno(NewReno::new(mss, limited_transmit)),
            RecoveryKind::Sack => Self::Sack(Sack::new(Detection::Counted, mss, limited_transmit)),
            RecoveryKind::Rack => Self::Rack(Rack::new(mss)),
            RecoveryKind::Fack => Self::Sack(Sack::new(Detection::Forward, mss, limited_transmit)),
        }
    }

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout); only RACK has one.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Rack(method) => method.deadline,
            Self::NewReno(_) | Self::Sack(_) => None,
        }
    }

    /// Checks whether more segments count as lost by now.
    pub fn handle_timeout(&mut self, board: &mut Scoreboard, now: Instant) -> Verdict {
        match self {
            Self::Rack(method) if method.deadline.is_some_and(|at| at <= now) => {
                method.handle_timeout(board, now)
            }
            _ => Verdict::Unchanged,
        }
    }

    /// Phase of loss recovery.
    pub fn phase(&self) -> Phase {
        self.episode().phase
    }
}

macro_rules! dispatch {
    ($self:ident, $method:ident => $call:expr) => {
        match $self {
            Recovery::NewReno($method) => $call,
            Recovery::Sack($method) => $call,
            Recovery::Rack($method) => $call,
        }
    };
}

impl LossRecovery for Recovery {
    fn on_ack(&mut self, ack: &AckSample, board: &mut Scoreboard, now: Instant) -> Verdict {
        dispatch!(self, method => method.on_ack(ack, board, now))
    }

    fn window(&self, cwnd: ByteCount) -> ByteCount {
        dispatch!(self, method => method.window(cwnd))
    }

    fn in_flight(&self, board: &Scoreboard) -> ByteCount {
        dispatch!(self, method => method.in_flight(board))
    }

    fn next_resend(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        dispatch!(self, method => method.next_resend(board, cwnd))
    }

    fn last_resort(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        dispatch!(self, method => method.last_resort(board, cwnd))
    }

    fn restarts_timer(&self) -> bool {
        dispatch!(self, method => method.restarts_timer())
    }

    fn episode(&self) -> &Episode {
        dispatch!(self, method => method.episode())
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, now: Instant) {
        dispatch!(self, method => method.on_timeout(board, now));
    }

    fn on_spurious_timeout(&mut self) {
        dispatch!(self, method => method.on_spurious_timeout());
    }
}
