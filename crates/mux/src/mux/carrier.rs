//! State of one carrier of the sending half: the streams and repeats that wait for it, and coalescing. Coalescing holds
//! small frames back so that several share one packet. The choice of a carrier for a stream is left to
//! [`Mux`](super::Mux).

use crate::config::{CarrierKind, Coalescing, StreamId};
use crate::schedule::Turns;
use alloc::collections::VecDeque;
use gamelane_core::Instant;

#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) kind: CarrierKind,
    pub(super) up: bool,
    pub(super) turns: Turns,
    /// Early repeats to send: stream and offset.
    pub(super) repeats: VecDeque<(StreamId, u64)>,
    /// Payload waiting for the carrier.
    pub(super) waiting: u64,
    /// Bytes that its connection still has to send, see [`Mux::set_backlog`](super::Mux::set_backlog).
    pub(super) reported: u64,
    batch: Batch,
}

/// State of coalescing.
#[derive(Clone, Copy, Debug)]
enum Batch {
    Empty,
    Filling { since: Instant, bytes: u64 },
    Leaving,
}

impl Carrier {
    /// A carrier that is down.
    pub(super) fn new() -> Self {
        Self {
            kind: CarrierKind::Ordered,
            up: false,
            turns: Turns::default(),
            repeats: VecDeque::new(),
            waiting: 0,
            reported: 0,
            batch: Batch::Empty,
        }
    }

    /// Marks the carrier as down and drops what waits, except for [`turns`](Self::turns).
    pub(super) fn take_down(&mut self) {
        self.up = false;
        self.repeats.clear();
        self.reported = 0;
        self.rest();
    }

    /// Counts `bytes` of payload that wait from now on.
    pub(super) fn add(&mut self, bytes: u64, now: Instant) {
        self.waiting += bytes;
        self.batch = match self.batch {
            Batch::Empty => Batch::Filling { since: now, bytes },
            Batch::Filling { since, bytes: before } => Batch::Filling { since, bytes: before + bytes },
            Batch::Leaving => Batch::Leaving,
        };
    }

    /// Handles the moment when nothing waits any more.
    pub(super) fn rest(&mut self) {
        self.waiting = 0;
        self.batch = Batch::Empty;
    }

    /// True if frames wait and coalescing does not hold them back.
    pub(super) fn is_ready(&mut self, coalescing: Option<Coalescing>, now: Instant) -> bool {
        if self.turns.is_empty() {
            return false;
        }
        let Some(coalescing) = coalescing else { return true };
        if let Batch::Filling { since, bytes } = self.batch {
            if bytes < u64::from(coalescing.fill) && since.saturating_add(coalescing.deadline) > now {
                return false;
            }
            self.batch = Batch::Leaving;
        }
        true
    }

    /// Time at which coalescing releases the frames it holds back.
    pub(super) fn release_at(&self, coalescing: Coalescing) -> Option<Instant> {
        match self.batch {
            Batch::Filling { since, .. } => Some(since.saturating_add(coalescing.deadline)),
            Batch::Empty | Batch::Leaving => None,
        }
    }
}
