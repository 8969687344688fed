//! The scheduler of one carrier: deficit round robin with new streams first, as FQ-CoDel serves its queues (RFC 8290
//! section 4.2). A stream that was idle goes before streams that always have data. So a thin stream does not wait
//! behind a bulk stream, and bulk streams share the rest evenly. Weights are left out.

use crate::config::{CarrierId, StreamId};
use alloc::collections::VecDeque;

/// Scheduling state of one stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The carrier in whose lists the stream is.
    pub carrier: Option<CarrierId>,
    /// Bytes that it may still send in this turn.
    pub deficit: i64,
}

/// The streams that have something to send on one carrier.
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

    /// Ends the turn of the first stream and moves it to the end of the old streams.
    pub(crate) fn rotate(&mut self) {
        if let Some(stream) = self.remove_first() {
            self.old.push_back(stream);
        }
    }

    /// Handles a first stream that has nothing more to send. Returns true if it left the lists. A new stream moves to
    /// the old list instead, as in RFC 8290 section 4.2: otherwise it could leave, return as new, and always go first.
    pub(crate) fn exhaust(&mut self) -> bool {
        if !self.new.is_empty() && !self.old.is_empty() {
            self.rotate();
            return false;
        }
        self.remove_first();
        true
    }

    /// Removes the first stream.
    pub(crate) fn remove_first(&mut self) -> Option<StreamId> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StreamId> + '_ {
        self.new.drain(..).chain(self.old.drain(..))
    }
}
