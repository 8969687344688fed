//! What the proxy counts, as numbers that may be read while it runs.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

/// How long things took: buckets of powers of two from 2^10 ns (about a microsecond) to 2^35 (half a minute), and beyond.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

const BUCKETS: usize = 27;
const FIRST: u32 = 10;

impl Histogram {
    /// Adds one.
    pub fn record(&self, took: gamelane_core::Duration) {
        let nanos = took.as_nanos().max(1);
        let bucket = (64 - nanos.leading_zeros()).saturating_sub(FIRST) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(nanos, Relaxed);
    }

    /// The upper end of the bucket that holds this quantile, in seconds; `None` without any.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        let rank = (total as f64 * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        bucket.filter(|_| total > 0).map(upper)
    }

    fn prometheus(&self, name: &str, help: &str, out: &mut String) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut total = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            total += bucket.load(Relaxed);
            let le = if index == BUCKETS - 1 { "+Inf".into() } else { upper(index).to_string() };
            let _ = writeln!(out, "{name}_bucket{{le=\"{le}\"}} {total}");
        }
        let sum = self.sum_ns.load(Relaxed) as f64 / 1e9;
        let _ = writeln!(out, "{name}_sum {sum}\n{name}_count {total}");
    }
}

fn upper(bucket: usize) -> f64 {
    (1_u64 << (FIRST as usize + bucket)) as f64 / 1e9
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
        self.added_delay.prometheus(
            "gamelane_proxy_added_delay_seconds",
            "From bytes arriving on a carrier to handing them over.",
            &mut out,
        );
        self.acknowledged.prometheus(
            "gamelane_proxy_acknowledged_seconds",
            "From a write into the pair to its acknowledgement by the other end.",
            &mut out,
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Duration;

    #[test]
    fn quantiles_are_upper_ends_of_buckets() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for micros in [1, 100, 100, 100_000_000] {
            histogram.record(Duration::from_micros(micros));
        }
        assert_eq!(histogram.quantile(0.0), Some(1.024e-6));
        assert_eq!(histogram.quantile(0.5), Some(131.072e-6));
        assert_eq!(histogram.quantile(1.0), Some(68.719_476_736));
    }
}
