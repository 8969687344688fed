//! The host's monotonic clock, which all its processes and network namespaces share, and a number that tells whether two ends share
//! it.

use gamelane_core::Instant;
use gamelane_core::rng::{Fnv1a, mix};
use nix::time::{ClockId, clock_gettime};

/// The current time of `CLOCK_MONOTONIC`.
pub fn now() -> Instant {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Converts a stamp of `CLOCK_REALTIME` to the clock of [`now`]; never later than now. Both clocks are read for each stamp, so a step
/// of the wall clock spoils one stamp only. If the thread was preempted between the readings, the pause would count as age of the
/// stamp; so this reads four times and uses the quickest.
pub(crate) fn of_real_time(stamp: Instant) -> Instant {
    let readings = (0..4).map(|_| {
        let (before, real, after) = (now(), read(ClockId::CLOCK_REALTIME), now());
        (after.saturating_since(before), before, real)
    });
    let (_, now, real) = readings.min_by_key(|(took, ..)| *took).expect("there are four readings");
    Instant::from_nanos(now.as_nanos().saturating_sub(real.saturating_since(stamp).as_nanos()))
}

fn read(clock: ClockId) -> Instant {
    let time = clock_gettime(clock).expect("Linux has had these clocks since 2.6");
    Instant::from_nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// A number made of the host's boot id: equal at two ends only if they share a clock.
pub fn boot() -> u64 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut state = Fnv1a::default();
    state.write(id.as_bytes());
    mix(state.finish())
}
