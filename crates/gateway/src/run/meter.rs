//! Measures each second what leaves the kernel's queues.

use gamelane_core::{Bitrate, Direction, Duration, Instant};

use crate::netlink::Counters;
use crate::status::ShaperStatus;

/// Compares counters each second.
#[derive(Debug)]
pub(super) struct Meter {
    since: Instant,
    /// Bytes that had left; `None` before the first look.
    before: [Option<u64>; 2],
    /// Whether packets waited at every look in the current second.
    busy: [bool; 2],
    most: [u32; 2],
    result: [ShaperStatus; 2],
}

const SECOND: Duration = Duration::from_secs(1);

impl Meter {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, before: [None; 2], busy: [true; 2], most: [0; 2], result: Default::default() }
    }

    /// Takes a look, about five times a second and when the status is asked for.
    pub(super) fn look(&mut self, counters: &[Counters; 2], rates: [Option<Bitrate>; 2], now: Instant) {
        for (index, counters) in counters.iter().enumerate() {
            self.before[index].get_or_insert(counters.bytes);
            self.busy[index] &= counters.qlen > 0;
            self.most[index] = self.most[index].max(counters.qlen);
        }
        let span = now.saturating_since(self.since);
        if span < SECOND {
            return;
        }
        for direction in Direction::BOTH {
            let index = direction.index();
            let before = self.before[index].replace(counters[index].bytes);
            // Counters begin again when a discipline is replaced.
            let bytes = before.map_or(0, |before| counters[index].bytes.saturating_sub(before));
            self.result[index] = ShaperStatus {
                rate_bps: rates[index].map(Bitrate::bps),
                measured_bps: (bytes as f64 * 8.0 / span.as_secs_f64()) as u64,
                busy: self.busy[index],
                bypass_bps: 0,
            };
            self.busy[index] = true;
        }
        self.since = now;
    }

    /// Result of the last whole second.
    pub(super) const fn result(&self) -> &[ShaperStatus; 2] {
        &self.result
    }

    /// Most packets that waited at a look.
    pub(super) const fn most(&self) -> [u32; 2] {
        self.most
    }
}
