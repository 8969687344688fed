//! A histogram of delays with a fixed number of buckets, eight to each doubling, so a quantile is exact within an eighth.

use gamelane_core::Duration;

/// Counts of delays.
#[derive(Clone, Copy, Debug)]
pub struct Histogram {
    counts: [u32; BUCKETS],
    total: u64,
    sum: u128,
    max: Duration,
}

/// From 1 µs to 16 s and beyond.
const BUCKETS: usize = 8 * 24 + 1;
const FIRST_BIT: u32 = 10;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], total: 0, sum: 0, max: Duration::ZERO }
    }
}

impl Histogram {
    /// Adds a delay.
    pub fn record(&mut self, delay: Duration) {
        let bucket = bucket(delay.as_nanos());
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.total += 1;
        self.sum += u128::from(delay.as_nanos());
        self.max = self.max.max(delay);
    }

    /// Adds all delays of another histogram.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*other);
        }
        self.total += other.total;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of delays.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// Largest delay, exact.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Mean delay, exact; zero if there is none.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos((self.sum / u128::from(self.total.max(1))) as u64)
    }

    /// Returns the upper end of the bucket that holds this quantile, at most the largest delay; zero if there is none.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let rank = (self.total as f64 * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return Duration::from_nanos(upper(bucket)).min(self.max);
            }
        }
        self.max
    }
}

/// Bucket of a delay. Delays below 1024 ns share one; above, the three bits after the first select it.
fn bucket(nanos: u64) -> usize {
    let Some(doubling) = (63 - nanos.max(1).leading_zeros()).checked_sub(FIRST_BIT) else { return 0 };
    let eighth = (nanos >> (doubling + FIRST_BIT - 3)) & 7;
    (1 + doubling as usize * 8 + eighth as usize).min(BUCKETS - 1)
}

fn upper(bucket: usize) -> u64 {
    match bucket {
        0 => 1 << FIRST_BIT,
        BUCKETS.. => u64::MAX,
        _ if bucket == BUCKETS - 1 => u64::MAX,
        _ => {
            let (doubling, eighth) = ((bucket - 1) / 8, (bucket - 1) % 8);
            (8 + eighth as u64 + 1) << (doubling + FIRST_BIT as usize - 3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quantile_is_right_within_an_eighth(mut nanos in proptest::collection::vec(1_000_u64..10_000_000_000, 1..200)) {
            let mut histogram = Histogram::default();
            for nanos in &nanos {
                histogram.record(Duration::from_nanos(*nanos));
            }
            nanos.sort_unstable();
            for quantile in [0.5, 0.95, 0.99, 1.0] {
                let exact = nanos[((nanos.len() as f64 * quantile).ceil() as usize).max(1) - 1];
                let said = histogram.quantile(quantile).as_nanos();
                prop_assert!(exact.max(1024) <= said.max(1024) && said <= exact.max(1024) / 8 * 9 + 8, "{exact} {said}");
            }
            prop_assert_eq!(histogram.max().as_nanos(), *nanos.last().unwrap());
        }
    }
}
