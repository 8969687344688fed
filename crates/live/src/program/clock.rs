//! The clocks.

#![expect(clippy::disallowed_methods, reason = "this is the driver that reads them")]

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, to measure how long something lasts.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since 1970.
pub(crate) fn since_1970_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
