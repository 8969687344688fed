//! Whose turn it is on a carrier: deficit round robin with new streams first, as FQ-CoDel serves its queues (RFC 8290 section
//! 4.2). A stream that just began to have something goes before those that always have, so a thin stream never waits for a
//! fat one's turn, and fat ones share what is left evenly.

use crate::config::{CarrierId, StreamId};
use alloc::collections::VecDeque;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The carrier in whose lists it is.
    pub carrier: Option<CarrierId>,
    /// Bytes it may still send in this turn.
    pub deficit: i64,
}

/// The streams that have something for one carrier.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    new: VecDeque<StreamId>,
    old: VecDeque<StreamId>,
}

impl Turns {
    pub(crate) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    pub(crate) fn begin(&mut self, stream: StreamId) {
        self.new.push_back(stream);
    }

    pub(crate) fn first(&self) -> Option<StreamId> {
        self.new.front().or_else(|| self.old.front()).copied()
    }

    /// The first has had its turn: the others are before it.
    pub(crate) fn rotate(&mut self) {
        if let Some(stream) = self.remove_first() {
            self.old.push_back(stream);
        }
    }

    /// The first has nothing more. True if it is out of the lists; a new one first stays for a turn of the old, or by ending
    /// and beginning again it would always be before them.
    pub(crate) fn exhaust(&mut self) -> bool {
        if !self.new.is_empty() && !self.old.is_empty() {
            self.rotate();
            return false;
        }
        self.remove_first();
        true
    }

    /// The first is gone.
    pub(crate) fn remove_first(&mut self) -> Option<StreamId> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }

    /// Empties the lists.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StreamId> + '_ {
        self.new.drain(..).chain(self.old.drain(..))
    }
}
