//! Loss recovery: when data counts as lost and what is sent again. A row of [`crate::RecoveryKind`] each over one
//! [`Scoreboard`]; how far the window falls is [`crate::congestion`]'s affair. What follows a timeout is the same for all
//! and lives here.

mod fack;
mod newreno;
mod rack;
mod sack;

pub use newreno::NewReno;
pub use rack::Rack;
pub use sack::{Detection, Sack};

use crate::config::RecoveryKind;
use crate::congestion::AckSample;
use crate::scoreboard::Scoreboard;
use gamelane_core::{ByteCount, Instant};

/// Where a sender stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// Fast retransmit was triggered; recovery lasts until what was outstanding then is acknowledged.
    Recovery,
    /// The timer expired; slow start over what was outstanding then.
    Loss,
}

/// What an ACK did to recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The phase is as before.
    Unchanged,
    /// Fast recovery begins: the window must come down.
    Entered,
    /// Fast recovery or the repair after a timeout is complete. The window should be no larger than `limit`, if given.
    Left {
        /// Bound against a burst.
        limit: Option<ByteCount>,
    },
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// Index in the scoreboard.
    pub index: usize,
    /// Lowest first, as usual; not so a rescue (RFC 6675 section 4, `NextSeg` rule 4).
    pub in_order: bool,
    /// Restarts the retransmission timer: the first of a recovery, as Linux does (RFC 6675 section 6 would allow all).
    pub restarts_timer: bool,
}

impl Resend {
    const fn lowest(index: usize) -> Self {
        Self { index, in_order: true, restarts_timer: false }
    }
}

/// A recovery method. `cwnd` is the congestion rule's window.
pub trait LossRecovery {
    /// The scoreboard has taken in an ACK.
    fn on_ack(&mut self, ack: &AckSample, board: &mut Scoreboard, now: Instant) -> Verdict;
    /// The window to send by: `cwnd`, and what the method adds to it.
    fn window(&self, cwnd: ByteCount) -> ByteCount;
    /// The bytes to hold against that window.
    fn in_flight(&self, board: &Scoreboard) -> ByteCount;
    /// What to send before new data.
    fn next_resend(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend>;
    /// What to send if there is no new data to send.
    fn last_resort(&mut self, board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend>;
    /// An ACK of new data restarts the retransmission timer.
    fn restarts_timer(&self) -> bool;
    /// State common to all methods.
    fn episode(&self) -> &Episode;
    /// The retransmission timer expired.
    fn on_timeout(&mut self, board: &mut Scoreboard);
    /// It need not have: nothing is being repaired any more.
    fn on_spurious_timeout(&mut self);
}

/// What every method remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Episode {
    /// Where the sender stands.
    pub phase: Phase,
    /// Recovery ends when this offset is acknowledged (RFC 6582 `recover` plus one, RFC 6675 `RecoveryPoint`).
    pub point: u64,
    /// Duplicate ACKs in a row.
    pub duplicate_acks: u32,
    /// The oldest segment goes out at once, whatever the window.
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

    /// The forced retransmission of the oldest segment, once.
    fn take_front(&mut self, board: &Scoreboard, restarts_timer: bool) -> Option<Resend> {
        let due = core::mem::take(&mut self.resend_front) && !board.front()?.sacked;
        due.then_some(Resend { restarts_timer, ..Resend::lowest(0) })
    }

    /// A timeout: what was outstanding is to be repaired by slow start.
    fn time_out(&mut self, board: &mut Scoreboard) {
        board.mark_all_lost();
        *self = Self { phase: Phase::Loss, point: board.next(), duplicate_acks: 0, resend_front: false };
    }

    /// Slow start over the lost segments after a timeout.
    fn resend_lost(board: &mut Scoreboard, cwnd: ByteCount) -> Option<Resend> {
        let index = board.next_lost()?;
        // Payload alone: a full segment with FIN must fit a window of one segment.
        let len = ByteCount(board.weight().of(u64::from(board.segment(index).payload())));
        (board.pipe() + len <= cwnd).then(|| Resend::lowest(index))
    }
}

/// The configured method.
#[derive(Clone, Debug)]
pub enum Recovery {
    /// RFC 6582.
    NewReno(NewReno),
    /// RFC 6675, and FACK over it.
    Sack(Sack),
    /// RFC 8985.
    Rack(Rack),
}

impl Recovery {
    /// `limited_transmit`: RFC 3042.
    pub const fn new(kind: RecoveryKind, mss: ByteCount, limited_transmit: bool) -> Self {
        match kind {
            RecoveryKind::NewReno => Self::NewReno(NewReno::new(mss, limited_transmit)),
            RecoveryKind::Sack => Self::Sack(Sack::new(Detection::Counted, mss, limited_transmit)),
            RecoveryKind::Rack => Self::Rack(Rack::new(mss)),
            RecoveryKind::Fack => Self::Sack(Sack::new(Detection::Forward, mss, limited_transmit)),
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; only RACK does.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Rack(method) => method.deadline,
            Self::NewReno(_) | Self::Sack(_) => None,
        }
    }

    /// Time may have made losses of doubts.
    pub fn handle_timeout(&mut self, board: &mut Scoreboard, now: Instant) -> Verdict {
        match self {
            Self::Rack(method) if method.deadline.is_some_and(|at| at <= now) => {
                method.handle_timeout(board, now)
            }
            _ => Verdict::Unchanged,
        }
    }

    /// Where the sender stands.
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

    fn on_timeout(&mut self, board: &mut Scoreboard) {
        dispatch!(self, method => method.on_timeout(board));
    }

    fn on_spurious_timeout(&mut self) {
        dispatch!(self, method => method.on_spurious_timeout());
    }
}
