//! The backlog of a queue over time: its mean weighted by how long each value lasted, and its peak.

use gamelane_core::{Duration, Instant};
use gamelane_qdisc::Backlog;

/// Measures one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct BacklogMeter {
    since: Instant,
    packets: u32,
    peak: u32,
    /// Packet-nanoseconds.
    area: u64,
}

impl BacklogMeter {
    /// Sets the backlog from `now` on.
    pub fn observe(&mut self, backlog: Backlog, now: Instant) {
        self.area += now.saturating_since(self.since).as_nanos() * u64::from(self.packets);
        self.since = now;
        self.packets = backlog.packets;
        self.peak = self.peak.max(backlog.packets);
    }

    /// Most packets that waited at once.
    pub const fn peak(&self) -> u32 {
        self.peak
    }

    /// Mean packets waiting over the first `span` of the run, which must have passed.
    pub fn mean(&self, span: Duration) -> f64 {
        if span.is_zero() { 0.0 } else { self.area as f64 / span.as_nanos() as f64 }
    }
}
