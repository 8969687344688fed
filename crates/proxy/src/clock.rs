//! The clock of the proxy. Nothing else in this crate reads one.

use gamelane_core::Instant;

/// A monotonic clock that counts from its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// Starts a clock at zero.
    #[expect(clippy::disallowed_methods, reason = "a driver reads the clock here and nowhere else")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// The current time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(
            u64::try_from(self.0.elapsed().as_nanos()).expect("a proxy runs for less than 584 years"),
        )
    }

    /// The same time for a tokio timer.
    pub fn at(&self, instant: Instant) -> tokio::time::Instant {
        (self.0 + std::time::Duration::from_nanos(instant.as_nanos().min(NEVER))).into()
    }
}

/// A century in nanoseconds: tokio's timers do not accept later times.
const NEVER: u64 = 3_155_760_000_000_000_000;
