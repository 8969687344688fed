//! List of the small messages sent and when, for early repeats (see [`EarlyRepeat`](crate::EarlyRepeat)). Whether a
//! message is still unacknowledged is left to the stream that sent it.

use crate::config::StreamId;
use alloc::collections::VecDeque;
use gamelane_core::{Duration, Instant};

/// Maximum number of messages in the list. Further messages are sent, but not repeated early.
const CAPACITY: usize = 65_536;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    pub sent_at: Instant,
    pub stream: StreamId,
    pub offset: u64,
}

/// Messages in the order of sending.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    watched: VecDeque<Watched>,
}

impl Ledger {
    pub(crate) fn watch(&mut self, stream: StreamId, offset: u64, now: Instant) {
        if self.watched.len() < CAPACITY {
            self.watched.push_back(Watched { sent_at: now, stream, offset });
        }
    }

    /// Time at which the oldest message becomes due.
    pub(crate) fn due(&self, after: Duration) -> Option<Instant> {
        self.watched.front().map(|first| first.sent_at.saturating_add(after))
    }

    pub(crate) fn take_due(&mut self, after: Duration, now: Instant) -> Option<Watched> {
        if self.due(after)? > now {
            return None;
        }
        self.watched.pop_front()
    }
}
