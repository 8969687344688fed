//! The one place that reads a clock.

use gamelane_core::Instant;

/// Nanoseconds since this value was made, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
    epoch_ns: u64,
    /// What the kernel's `CLOCK_MONOTONIC` was.
    monotonic_ns: u64,
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
            monotonic_ns: monotonic_ns(),
        }
    }

    /// When it started, by the wall clock, in nanoseconds since 1970.
    pub const fn epoch_ns(&self) -> u64 {
        self.epoch_ns
    }

    /// What the kernel's `CLOCK_MONOTONIC` calls `monotonic_ns`; zero for what was before the start.
    pub const fn of_kernel(&self, monotonic_ns: u64) -> Instant {
        Instant::from_nanos(monotonic_ns.saturating_sub(self.monotonic_ns))
    }

    /// Time since it started.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).expect("584 years"))
    }
}

/// What the kernel's `CLOCK_MONOTONIC` shows.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
