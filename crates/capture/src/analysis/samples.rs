//! Distributions of bounded size: the first values are kept as they are, more of them as a histogram whose buckets are 1/128 of
//! their value wide. Count, mean, standard deviation, least and greatest are exact always; quantiles are exact (type 7) as
//! long as every value is kept, and within 0.4 % from then on.

/// Values of one kind: nanoseconds, bytes, packets.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    /// Of squares: exact for a billion values of a thousand seconds in nanoseconds.
    squares: u128,
    kept: Vec<u64>,
    /// Counts by bucket from `first` on, once there are more than [`KEPT`] values.
    buckets: Vec<u32>,
    first: usize,
}

impl Samples {
    /// Takes one value.
    #[inline]
    pub fn push(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        let value_squared = u128::from(value) * u128::from(value);
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(value_squared);
        if self.count <= KEPT as u64 {
            self.kept.push(value);
        } else {
            if !self.kept.is_empty() {
                self.spill();
            }
            self.put(value);
        }
    }

    /// Puts the values kept so far into buckets.
    #[cold]
    fn spill(&mut self) {
        for value in std::mem::take(&mut self.kept) {
            self.put(value);
        }
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The least value; `None` of no values.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The greatest value.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Their mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Their standard deviation (of a sample: divided by n - 1).
    pub fn standard_deviation(&self) -> Option<f64> {
        let n = u128::from(self.count);
        let distances = self.squares.saturating_mul(n).saturating_sub(self.sum.saturating_mul(self.sum));
        (n > 1).then(|| libm::sqrt(distances as f64 / (n * (n - 1)) as f64))
    }

    /// The value below which a share `q` of them lies.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = q.clamp(0.0, 1.0) * (self.count - 1) as f64;
        if !self.kept.is_empty() {
            let mut sorted = self.kept.clone();
            sorted.sort_unstable();
            let below = libm::floor(rank);
            let (low, high) = (sorted[below as usize], sorted[libm::ceil(rank) as usize]);
            return Some(low as f64 + (high - low) as f64 * (rank - below));
        }
        let mut before = 0;
        for (bucket, &count) in (self.first..).zip(&self.buckets) {
            before += u64::from(count);
            if before as f64 > rank {
                return Some(middle(bucket).clamp(self.min as f64, self.max as f64));
            }
        }
        Some(self.max as f64)
    }

    /// The value half of them lie below.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The share of values in `low..=high`, by whole buckets once the values are not kept.
    pub fn share_within(&self, low: f64, high: f64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let within = if self.kept.is_empty() {
            let buckets = (self.first..).zip(&self.buckets);
            let inside = buckets.filter(|&(bucket, _)| (low..=high).contains(&middle(bucket)));
            inside.map(|(_, &count)| u64::from(count)).sum()
        } else {
            self.kept.iter().filter(|&&value| (low..=high).contains(&(value as f64))).count() as u64
        };
        within as f64 / self.count as f64
    }

    #[inline]
    fn put(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.buckets.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.widen(bucket),
        }
    }

    /// Counts a value outside the buckets there are.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        if self.buckets.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = self.first - bucket;
            self.buckets.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let place = bucket - self.first;
        if place >= self.buckets.len() {
            self.buckets.resize(place + 1, 0);
        }
        self.buckets[place] = self.buckets[place].saturating_add(1);
    }
}

/// Values up to 255 have a bucket each; those of each power of two above share 128.
#[inline]
const fn bucket(value: u64) -> usize {
    if value < 256 {
        return value as usize;
    }
    let shift = 56 - value.leading_zeros();
    shift as usize * 128 + (value >> shift) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    if bucket < 256 {
        return bucket as f64;
    }
    let shift = bucket / 128 - 1;
    let low = ((bucket - shift * 128) as u64) << shift;
    low as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

/// Values kept as they are.
const KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_values_have_exact_quantiles() {
        let mut samples = Samples::default();
        for value in [4, 1, 3, 2] {
            samples.push(value);
        }
        assert_eq!((samples.min(), samples.max(), samples.median()), (Some(1), Some(4), Some(2.5)));
        assert_eq!(samples.mean(), Some(2.5));
        assert!((samples.standard_deviation().unwrap() - 1.290_994).abs() < 1e-6);
        assert_eq!(Samples::default().median(), None);
    }

    proptest! {
        #[test]
        fn many_values_have_quantiles_within_their_buckets(
            values in proptest::collection::vec(0u64..1 << 40, 300..600), q in 0.0..1.0f64,
        ) {
            let mut samples = Samples::default();
            values.iter().for_each(|&value| samples.push(value));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let exact = sorted[(q * (values.len() - 1) as f64) as usize] as f64;
            let ours = samples.quantile(q).unwrap();
            prop_assert!((ours - exact).abs() <= exact / 256.0 + 1.0, "{ours} {exact}");
            prop_assert_eq!((samples.min(), samples.max()), (Some(sorted[0]), Some(sorted[sorted.len() - 1])));
        }

        #[test]
        fn buckets_hold_what_they_say(value in any::<u64>()) {
            prop_assert!((middle(bucket(value)) - value as f64).abs() <= value as f64 / 256.0 + 0.5);
        }
    }
}
