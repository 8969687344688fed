//! The one place that reads a clock.

use gamelane_core::Instant;

/// Nanoseconds since the process began.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "a driver reads the clock here and nowhere else")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Now.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).expect("584 years"))
    }

    /// For a timer.
    pub fn at(&self, instant: Instant) -> tokio::time::Instant {
        (self.0 + std::time::Duration::from_nanos(instant.as_nanos().min(NEVER))).into()
    }
}

/// A century: timers do not take later times.
const NEVER: u64 = 3_155_760_000_000_000_000;
