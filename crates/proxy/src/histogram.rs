//! How long things took: buckets of powers of two from 2^10 ns (about a microsecond) to 2^35 (half a minute), and beyond. One
//! kind is shared by all sessions, the other is small enough for every client to have its own.

use gamelane_core::Duration;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const BUCKETS: usize = 27;
const FIRST: u32 = 10;

/// May be added to and read from anywhere.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

/// One client's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    buckets: [u32; BUCKETS],
    sum_ns: u64,
}

impl Histogram {
    /// Adds one.
    pub fn record(&self, took: Duration) {
        self.buckets[bucket(took)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(took.as_nanos(), Relaxed);
    }

    /// The upper end of the bucket that holds this quantile, in seconds; `None` without any.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        quantile_of(&self.counts(), quantile)
    }

    /// A histogram without labels, in Prometheus' text format.
    pub fn prometheus(&self, name: &str, help: &str, out: &mut String) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        series(name, "", &self.counts(), self.sum_ns.load(Relaxed), out);
    }

    fn counts(&self) -> [u64; BUCKETS] {
        std::array::from_fn(|index| self.buckets[index].load(Relaxed))
    }
}

impl Delays {
    /// Adds one.
    pub fn record(&mut self, took: Duration) {
        let bucket = &mut self.buckets[bucket(took)];
        *bucket = bucket.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(took.as_nanos());
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// See [`Histogram::quantile`].
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        quantile_of(&self.counts(), quantile)
    }

    /// The series of one client; `labels` such as `client="192.0.2.7:4000"`. Help and type are the caller's.
    pub fn prometheus(&self, name: &str, labels: &str, out: &mut String) {
        series(name, labels, &self.counts(), self.sum_ns, out);
    }

    fn counts(&self) -> [u64; BUCKETS] {
        self.buckets.map(u64::from)
    }
}

fn bucket(took: Duration) -> usize {
    let bits = 64 - took.as_nanos().max(1).leading_zeros();
    (bits.saturating_sub(FIRST) as usize).min(BUCKETS - 1)
}

fn quantile_of(counts: &[u64; BUCKETS], quantile: f64) -> Option<f64> {
    let total: u64 = counts.iter().sum();
    let rank = (total as f64 * quantile).ceil().max(1.0) as u64;
    let mut seen = 0;
    let bucket = counts.iter().position(|count| {
        seen += count;
        seen >= rank
    });
    bucket.filter(|_| total > 0).map(upper)
}

fn series(name: &str, labels: &str, counts: &[u64; BUCKETS], sum_ns: u64, out: &mut String) {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut total = 0;
    for (index, count) in counts.iter().enumerate() {
        total += count;
        let le = if index == BUCKETS - 1 { "+Inf".into() } else { upper(index).to_string() };
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{le}\"}} {total}");
    }
    let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    let _ = writeln!(out, "{name}_sum{braces} {}\n{name}_count{braces} {total}", sum_ns as f64 / 1e9);
}

fn upper(bucket: usize) -> f64 {
    (1_u64 << (FIRST as usize + bucket)) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_ends_of_buckets() {
        let (shared, mut own) = (Histogram::default(), Delays::default());
        assert_eq!((shared.quantile(0.5), own.quantile(0.5)), (None, None));
        for micros in [1, 100, 100, 100_000_000] {
            shared.record(Duration::from_micros(micros));
            own.record(Duration::from_micros(micros));
        }
        for (quantile, upper) in [(0.0, 1.024e-6), (0.5, 131.072e-6), (1.0, 68.719_476_736)] {
            assert_eq!((shared.quantile(quantile), own.quantile(quantile)), (Some(upper), Some(upper)));
        }
        assert_eq!(own.count(), 4);
    }

    #[test]
    fn series_are_cumulative_and_keep_their_labels() {
        let mut own = Delays::default();
        own.record(Duration::from_micros(1));
        own.record(Duration::from_micros(3));
        let mut out = String::new();
        own.prometheus("d", "client=\"a\"", &mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "d_bucket{client=\"a\",le=\"0.000001024\"} 1",
                "d_bucket{client=\"a\",le=\"0.000002048\"} 1",
                "d_bucket{client=\"a\",le=\"0.000004096\"} 2",
            ]
        );
        assert_eq!(
            lines[BUCKETS - 1..],
            [
                "d_bucket{client=\"a\",le=\"+Inf\"} 2",
                "d_sum{client=\"a\"} 0.000004",
                "d_count{client=\"a\"} 2",
            ]
        );
    }
}
