//! Time since the host booted, which all processes and namespaces of a host share; and whether two ends share it.

use gamelane_core::Instant;
use nix::time::{ClockId, clock_gettime};

/// Now, on `CLOCK_MONOTONIC`.
pub fn now() -> Instant {
    read(ClockId::CLOCK_MONOTONIC)
}

/// When `CLOCK_REALTIME` showed `stamp`, on [`now`]'s clock; never later than now. Both are read here, so a step of the wall clock
/// spoils one stamp. A reader that lost its processor between them would take the pause for age: it reads again.
pub(crate) fn of_real_time(stamp: Instant) -> Instant {
    let readings = (0..4).map(|_| {
        let (before, real, after) = (now(), read(ClockId::CLOCK_REALTIME), now());
        (after.saturating_since(before), before, real)
    });
    let (_, now, real) = readings.min_by_key(|(took, ..)| *took).expect("four of them");
    Instant::from_nanos(now.as_nanos().saturating_sub(real.saturating_since(stamp).as_nanos()))
}

fn read(clock: ClockId) -> Instant {
    let time = clock_gettime(clock).expect("Linux has had these clocks since 2.6");
    Instant::from_nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// The same number on hosts that share a clock: of the boot.
pub fn boot() -> u64 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    gamelane_core::rng::mix(hash)
}
