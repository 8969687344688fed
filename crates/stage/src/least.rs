//! The least delay of a source lately: what it takes without a queue. Routes change, so it is forgotten in the end.

use gamelane_core::{Duration, Instant};

/// The least delay of a source in the memory now under way and the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Least {
    now: Option<Duration>,
    before: Option<Duration>,
    since: Instant,
}

impl Least {
    /// How far `time` lies above the least.
    pub(crate) fn above(&mut self, time: Duration, memory: Duration, now: Instant) -> Duration {
        if now.saturating_since(self.since) >= memory {
            (self.before, self.now, self.since) = (self.now, None, now);
        }
        let least = self.now.map_or(time, |least| least.min(time));
        self.now = Some(least);
        time.saturating_sub(self.before.map_or(least, |before| before.min(least)))
    }
}
