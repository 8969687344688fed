//! The one place that reads a clock.

use gamelane_core::Instant;

/// Nanoseconds since this value was made, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
    epoch_ns: u64,
}

impl Clock {
    /// Starts at zero.
    #[expect(clippy::disallowed_methods, reason = "a driver reads the clock here and nowhere else")]
    pub fn start() -> Self {
        let since_1970 =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            start: std::time::Instant::now(),
            epoch_ns: u64::try_from(since_1970.as_nanos()).expect("the year 2554"),
        }
    }

    /// When it started, by the wall clock, in nanoseconds since 1970.
    pub const fn epoch_ns(&self) -> u64 {
        self.epoch_ns
    }

    /// Time since it started.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).expect("584 years"))
    }
}
