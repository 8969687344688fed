//! The lowest recent delay of a source, taken as its delay without a queue. It is forgotten after some time, because
//! routes change.

use gamelane_core::{Duration, Instant};

/// The lowest delay of a source in the present period and in the period before. A period has the length of `memory`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Least {
    now: Option<Duration>,
    before: Option<Duration>,
    since: Instant,
}

impl Least {
    /// Takes a new delay `time` and returns by how much it is above the lowest.
    pub(crate) fn above(&mut self, time: Duration, memory: Duration, now: Instant) -> Duration {
        if now.saturating_since(self.since) >= memory {
            (self.before, self.now, self.since) = (self.now, None, now);
        }
        let least = self.now.map_or(time, |least| least.min(time));
        self.now = Some(least);
        time.saturating_sub(self.before.map_or(least, |before| before.min(least)))
    }
}
