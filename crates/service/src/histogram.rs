//! Delays in a fixed number of buckets: no allocation per sample, and memory that depends on the resolution only.
//!
//! The first bucket holds delays up to 2^10 ns (about a microsecond). Above it, each doubling up to 2^35 ns (34 s) is divided into
//! 1 ([`Coarse`]) or 8 ([`Fine`]) buckets of equal width; the last bucket holds the rest. A bucket includes its upper bound, as `le`
//! of a Prometheus histogram does. Compare HdrHistogram, which has the same layout but at least 16 buckets to a doubling.

use gamelane_core::Duration;

/// Largest delay of the first bucket: 2^10 ns.
const FIRST_BIT: u32 = 10;
/// Doublings between the first bucket and the last.
const DOUBLINGS: usize = 25;

/// The number of buckets if each doubling has `parts`.
const fn buckets(parts: usize) -> usize {
    2 + DOUBLINGS * parts
}

/// One bucket to a doubling: 144 bytes with `u32` counters. A quantile is at most twice the exact one.
pub type Coarse<C = u32> = Histogram<C, { buckets(1) }>;

/// Eight buckets to a doubling: 832 bytes with `u32` counters. A quantile is at most an eighth above the exact one.
pub type Fine<C = u32> = Histogram<C, { buckets(8) }>;

/// A counter of a bucket: `u32` for one flow, `u64` for a whole program.
pub trait Counter: Copy + Default + From<u32> + Into<u64> {
    /// Adds `count`, up to the largest value.
    fn add(&mut self, count: Self);
}

impl Counter for u32 {
    fn add(&mut self, count: Self) {
        *self = self.saturating_add(count);
    }
}

impl Counter for u64 {
    fn add(&mut self, count: Self) {
        *self = self.saturating_add(count);
    }
}

/// Counts of delays by bucket, with their exact sum and maximum. Use it as [`Coarse`] or [`Fine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram<C, const N: usize> {
    counts: [C; N],
    sum_nanos: u128,
    max: Duration,
}

impl<C: Counter, const N: usize> Default for Histogram<C, N> {
    fn default() -> Self {
        Self { counts: [C::default(); N], sum_nanos: 0, max: Duration::ZERO }
    }
}

impl<C: Counter, const N: usize> Histogram<C, N> {
    /// Buckets to a doubling.
    const PARTS: usize = {
        let parts = (N - 2) / DOUBLINGS;
        assert!(N == buckets(parts) && parts.is_power_of_two() && parts <= 1 << FIRST_BIT);
        parts
    };
    const PART_BITS: u32 = Self::PARTS.ilog2();

    /// Adds a delay.
    pub fn record(&mut self, delay: Duration) {
        self.record_many(delay, 1);
    }

    /// Adds the same delay several times.
    pub fn record_many(&mut self, delay: Duration, times: u32) {
        self.counts[Self::bucket(delay.as_nanos())].add(C::from(times));
        self.sum_nanos += u128::from(delay.as_nanos()) * u128::from(times);
        self.max = self.max.max(delay);
    }

    /// Adds all delays of another histogram.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.counts.iter_mut().zip(other.counts) {
            own.add(other);
        }
        self.sum_nanos += other.sum_nanos;
        self.max = self.max.max(other.max);
    }

    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| (*count).into()).sum()
    }

    /// Sum of all delays, in seconds.
    pub fn sum_seconds(&self) -> f64 {
        self.sum_nanos as f64 / 1e9
    }

    /// The largest delay, exactly; zero if there is none.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// The mean, exactly; zero if there is no delay.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos((self.sum_nanos / u128::from(self.count().max(1))) as u64)
    }

    /// The upper bound of the bucket that holds this quantile, but never more than the largest delay. `None` if there is no delay.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let rank = (self.count() as f64 * quantile).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += (*count).into();
            seen >= rank
        })?;
        Some(if bucket == N - 1 { self.max } else { Self::upper(bucket).min(self.max) })
    }

    /// For each power of two: the bound, and the number of delays up to it. The last bound is `None`: all delays.
    pub fn cumulative(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        let mut seen = 0;
        self.counts.iter().enumerate().filter_map(move |(bucket, count)| {
            seen += (*count).into();
            match bucket {
                _ if bucket == N - 1 => Some((None, seen)),
                _ if bucket % Self::PARTS == 0 => Some((Some(Self::upper(bucket)), seen)),
                _ => None,
            }
        })
    }

    fn bucket(nanos: u64) -> usize {
        let below = nanos.saturating_sub(1);
        let Some(doubling) = below.checked_ilog2().and_then(|bit| bit.checked_sub(FIRST_BIT)) else {
            return 0;
        };
        if doubling as usize >= DOUBLINGS {
            return N - 1;
        }
        // The bits after the first one say which part of the doubling it is.
        let part = (below >> (doubling + FIRST_BIT - Self::PART_BITS)) as usize & (Self::PARTS - 1);
        1 + doubling as usize * Self::PARTS + part
    }

    fn upper(bucket: usize) -> Duration {
        let Some(above) = bucket.checked_sub(1) else { return Duration::from_nanos(1 << FIRST_BIT) };
        let (doubling, part) = (above / Self::PARTS, above % Self::PARTS);
        let shift = doubling + (FIRST_BIT - Self::PART_BITS) as usize;
        Duration::from_nanos(((Self::PARTS + part + 1) as u64) << shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_upper_bounds_of_buckets() {
        let mut coarse = Coarse::<u64>::default();
        assert_eq!(
            (coarse.quantile(0.5), coarse.mean(), coarse.max()),
            (None, Duration::ZERO, Duration::ZERO)
        );
        for micros in [1, 100, 100, 100_000_000] {
            coarse.record(Duration::from_micros(micros));
        }
        for (quantile, nanos) in [(0.0, 1_024), (0.5, 131_072), (1.0, 100_000_000_000)] {
            assert_eq!(coarse.quantile(quantile), Some(Duration::from_nanos(nanos)));
        }
        assert_eq!(coarse.count(), 4);
    }

    #[test]
    fn memory_is_fixed_and_small() {
        assert_eq!((size_of::<Coarse>(), size_of::<Fine>()), (144, 832));
    }

    #[test]
    fn a_full_counter_stays_full() {
        let mut one = Coarse::<u32>::default();
        one.record(Duration::from_micros(5));
        let mut sum = one;
        for _ in 0..40 {
            let twice = sum;
            sum.add(&twice);
        }
        assert_eq!(sum.count(), u64::from(u32::MAX));
    }

    /// From below the first bucket to beyond the last.
    fn delays() -> impl Strategy<Value = Vec<u64>> {
        let bounds = (9_u32..37, -1_i64..=1).prop_map(|(bit, off)| (1_u64 << bit).wrapping_add_signed(off));
        proptest::collection::vec(prop_oneof![0_u64..60_000_000_000, 0_u64..5_000, bounds], 1..200)
    }

    fn of<const N: usize>(nanos: &[u64]) -> Histogram<u32, N> {
        let mut histogram = Histogram::default();
        nanos.iter().for_each(|nanos| histogram.record(Duration::from_nanos(*nanos)));
        histogram
    }

    fn check<const N: usize>(mut nanos: Vec<u64>, parts: u64) -> Result<(), TestCaseError> {
        let histogram: Histogram<u32, N> = of(&nanos);
        nanos.sort_unstable();
        prop_assert_eq!(histogram.count(), nanos.len() as u64);
        prop_assert_eq!(histogram.max().as_nanos(), *nanos.last().unwrap());
        let sum: u64 = nanos.iter().sum();
        prop_assert_eq!(histogram.mean().as_nanos(), sum / nanos.len() as u64);
        for quantile in [0.0, 0.5, 0.95, 0.99, 1.0] {
            let exact = nanos[((nanos.len() as f64 * quantile).ceil() as usize).max(1) - 1];
            let said = histogram.quantile(quantile).unwrap().as_nanos();
            let in_range = exact <= 1 << 35;
            let most =
                if in_range { (exact + exact / parts + 1).max(1 << 10) } else { *nanos.last().unwrap() };
            prop_assert!(exact <= said && said <= most, "{} of {}", said, exact);
        }
        for (bound, count) in histogram.cumulative() {
            let bound = bound.map_or(u64::MAX, Duration::as_nanos);
            prop_assert_eq!(count, nanos.iter().filter(|nanos| **nanos <= bound).count() as u64);
        }
        let bounds: Vec<u64> =
            histogram.cumulative().filter_map(|(bound, _)| bound).map(Duration::as_nanos).collect();
        prop_assert_eq!(bounds, (10..=35).map(|bit| 1 << bit).collect::<Vec<u64>>());
        Ok(())
    }

    proptest! {
        #[test]
        fn counts_bounds_and_quantiles_fit_the_delays(nanos in delays()) {
            check::<{ buckets(1) }>(nanos.clone(), 1)?;
            check::<{ buckets(8) }>(nanos, 8)?;
        }

        #[test]
        fn a_sum_of_histograms_is_the_histogram_of_all(one in delays(), other in delays()) {
            let mut sum: Fine = of(&one);
            sum.add(&of(&other));
            prop_assert_eq!(sum, of(&[one, other].concat()));
        }
    }
}
