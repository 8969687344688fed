//! The backlog of a queue over time: its mean weighted by how long each value lasted, and its peak.

use gamelane_core::{Duration, Instant};
use gamelane_qdisc::Backlog;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BacklogMeter {
    since: Instant,
    packets: u32,
    peak: u32,
    /// Packet-nanoseconds.
    area: u64,
}

impl BacklogMeter {
    /// The backlog is this from `now` on.
    pub(crate) fn observe(&mut self, backlog: Backlog, now: Instant) {
        self.area += now.saturating_since(self.since).as_nanos() * u64::from(self.packets);
        self.since = now;
        self.packets = backlog.packets;
        self.peak = self.peak.max(backlog.packets);
    }

    pub(crate) const fn peak(&self) -> u32 {
        self.peak
    }

    /// Mean over the first `span` of the run, which must have passed.
    pub(crate) fn mean(&self, span: Duration) -> f64 {
        if span.is_zero() { 0.0 } else { self.area as f64 / span.as_nanos() as f64 }
    }
}
