//! What the proxy counts, as numbers that may be read while it runs.

use crate::histogram::Histogram;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) const ADDED: &str = "From bytes arriving on a carrier to handing them over.";
pub(crate) const ACKNOWLEDGED: &str = "From a write into the pair to its acknowledgement by the other end.";

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Counts several.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// So many so far.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Streams begun.
    pub opened: Counter,
    /// Streams that ended by themselves.
    pub closed: Counter,
    /// Streams that failed or were given up.
    pub aborted: Counter,
    /// Clients refused: limits, or the far end unreachable.
    pub refused: Counter,
    /// Bytes and reads from clients or servers.
    pub bytes_in: Counter,
    /// Reads that brought something: about as many packets as a connection of its own would have had.
    pub reads: Counter,
    /// Bytes to clients or servers.
    pub bytes_out: Counter,
    /// Bytes to carriers, TLS included.
    pub carrier_bytes: Counter,
    /// Writes to carriers: about as many packets.
    pub carrier_writes: Counter,
    /// Carriers that came up.
    pub carriers_up: Counter,
    /// Carriers lost.
    pub carriers_lost: Counter,
    /// Handshakes that failed: certificate, version, something else's protocol.
    pub handshakes_failed: Counter,
    /// Times a client or server took no more for a while.
    pub stalls: Counter,
    /// From the arrival of bytes from a carrier to their handing over.
    pub added_delay: Histogram,
    /// From a write into the pair to its acknowledgement by the other end: one round trip and the acknowledgement's wait.
    pub acknowledged: Histogram,
}

impl Metrics {
    /// In Prometheus' text format 0.0.4.
    pub fn prometheus(&self, gauges: &[(&str, &str, f64)]) -> String {
        let mut out = String::new();
        for (name, help, value) in gauges {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        for (name, help, counter) in self.counters() {
            let name = format!("gamelane_proxy_{name}_total");
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {}", counter.value());
        }
        self.added_delay.prometheus("gamelane_proxy_added_delay_seconds", ADDED, &mut out);
        self.acknowledged.prometheus("gamelane_proxy_acknowledged_seconds", ACKNOWLEDGED, &mut out);
        out
    }

    /// Name, help and value of each counter.
    pub fn counters(&self) -> [(&'static str, &'static str, &Counter); 13] {
        [
            ("streams_opened", "Streams begun.", &self.opened),
            ("streams_closed", "Streams that ended by themselves.", &self.closed),
            ("streams_aborted", "Streams that failed or were given up.", &self.aborted),
            ("refused", "Clients refused.", &self.refused),
            ("bytes_in", "Bytes from clients or servers.", &self.bytes_in),
            ("reads", "Reads from clients or servers.", &self.reads),
            ("bytes_out", "Bytes to clients or servers.", &self.bytes_out),
            ("carrier_bytes", "Bytes to carriers.", &self.carrier_bytes),
            ("carrier_writes", "Writes to carriers.", &self.carrier_writes),
            ("carriers_up", "Carriers that came up.", &self.carriers_up),
            ("carriers_lost", "Carriers lost.", &self.carriers_lost),
            ("handshakes_failed", "Handshakes that failed.", &self.handshakes_failed),
            ("stalls", "Times a client or server took no more for a while.", &self.stalls),
        ]
    }
}
