//! The one place that reads a clock.

use gamelane_core::Instant;

/// Nanoseconds since it was made, by the monotonic clock.
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
}
