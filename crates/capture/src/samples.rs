//! Distributions in bounded memory. The first 256 values are kept as they are (of values from 4.3 s up the first 85).
//! More values go into a histogram whose buckets are 1/128 of their value wide. Count, mean, standard deviation,
//! minimum and maximum are always exact. Quantiles are exact (type 7) while every value is kept, afterwards within
//! 0.4 %. The order of the values is left out.

use smallvec::SmallVec;

/// Distribution of one quantity: nanoseconds, bytes or packets.
#[derive(Clone, Debug)]
pub struct Samples {
    min: u64,
    max: u64,
    /// All values, until they fill more than [`KEPT`] words. A value has one word, or [`WIDE`] and two words.
    kept: SmallVec<[u32; INLINE]>,
    /// Number of values in `kept`.
    kept_values: u32,
    many: Option<Box<Histogram>>,
}

/// More than [`KEPT`] values.
#[derive(Clone, Debug, Default)]
struct Histogram {
    count: u64,
    sum: u128,
    /// Sum of squares. It is exact for a billion values of 1000 s in nanoseconds.
    squares: u128,
    /// Counts by bucket, starting with bucket `first`.
    buckets: Vec<u32>,
    first: usize,
}

impl Default for Samples {
    fn default() -> Self {
        Self { min: u64::MAX, max: 0, kept: SmallVec::new(), kept_values: 0, many: None }
    }
}

impl Samples {
    /// Adds one value.
    #[inline]
    pub fn push(&mut self, value: u64) {
        if let Some(many) = &mut self.many {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            return many.add(value);
        }
        if self.kept.capacity() - self.kept.len() < WORDS && !self.make_room() {
            return self.push(value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.kept_values += 1;
        match u32::try_from(value) {
            Ok(word) if word != WIDE => self.kept.push(word),
            _ => self.kept.extend([WIDE, (value >> 32) as u32, value as u32]),
        }
    }

    /// Adds several values, as [`Samples::push`] does one by one. `values` must be cheap to iterate over.
    pub(crate) fn extend(&mut self, values: impl Iterator<Item = u64> + Clone) {
        if let Some(many) = &mut self.many {
            let (least, most) = many.extend(values);
            (self.min, self.max) = (self.min.min(least), self.max.max(most));
            return;
        }
        let all = values.clone().fold((0, u64::MAX, 0), |(count, least, most), value| {
            (count + 1, value.min(least), value.max(most))
        });
        let (count, least, most): (usize, u64, u64) = all;
        if self.kept.len() + count > KEPT || most >= u64::from(WIDE) {
            return values.for_each(|value| self.push(value));
        }
        if self.kept.capacity() - self.kept.len() < count {
            self.kept.reserve_exact(count);
        }
        self.kept.extend(values.map(|value| value as u32));
        self.kept_values += count as u32;
        (self.min, self.max) = (self.min.min(least), self.max.max(most));
    }

    /// Makes room for more values, up to [`KEPT`] words. Beyond that it moves all of them to the histogram, and returns
    /// false.
    #[cold]
    fn make_room(&mut self) -> bool {
        let len = self.kept.len();
        if len >= KEPT {
            let mut many = Box::<Histogram>::default();
            self.values().for_each(|value| many.add(value));
            self.many = Some(many);
            (self.kept, self.kept_values) = (SmallVec::new(), 0);
            return false;
        }
        self.kept.reserve_exact((len * 3).clamp(8, KEPT) + WORDS - len);
        true
    }

    fn values(&self) -> Values<'_> {
        Values(&self.kept)
    }

    /// Sum and sum of squares of all values.
    fn sums(&self) -> (u128, u128) {
        if let Some(many) = &self.many {
            return (many.sum, many.squares);
        }
        if let Some(words) = self.words() {
            let add = |(sum, squares): (u64, u128), &word: &u32| {
                let value = u64::from(word);
                (sum + value, squares + u128::from(value * value))
            };
            let (sum, squares) = words.iter().fold((0, 0), add);
            return (sum.into(), squares);
        }
        let add = |(sum, squares): (u128, u128), value: u64| {
            let value = u128::from(value);
            (sum + value, squares.saturating_add(value * value))
        };
        self.values().fold((0, 0), add)
    }

    /// The values that are kept, if each of them has one word.
    fn words(&self) -> Option<&[u32]> {
        (self.kept.len() == self.kept_values as usize).then_some(&self.kept[..])
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.many.as_ref().map_or(0, |many| many.count) + u64::from(self.kept_values)
    }

    /// Minimum; `None` without values.
    pub fn min(&self) -> Option<u64> {
        if self.count() == 0 { None } else { Some(self.min) }
    }

    /// Maximum; `None` without values.
    pub fn max(&self) -> Option<u64> {
        if self.count() == 0 { None } else { Some(self.max) }
    }

    /// Mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        self.mean_and_deviation().0
    }

    /// Standard deviation of a sample (divided by n - 1).
    pub fn standard_deviation(&self) -> Option<f64> {
        self.mean_and_deviation().1
    }

    /// Mean and standard deviation; faster than one after the other.
    pub fn mean_and_deviation(&self) -> (Option<f64>, Option<f64>) {
        let (sum, squares) = self.sums();
        let n = u128::from(self.count());
        let distances = squares.saturating_mul(n).saturating_sub(sum.saturating_mul(sum));
        let deviation = (n > 1).then(|| libm::sqrt(distances as f64 / (n * (n - 1)) as f64));
        ((n > 0).then(|| sum as f64 / n as f64), deviation)
    }

    /// Quantile: the value below which a share `q` of the values lies.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// Several quantiles for ascending `shares`; hardly slower than a single one.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let last = self.count().checked_sub(1)?;
        let ranks = shares.map(|q| q.clamp(0.0, 1.0) * last as f64);
        let Some(many) = &self.many else {
            return Some(match self.words() {
                Some(words) => between(&mut SmallVec::<[u32; KEPT]>::from_slice(words), ranks),
                None => between(&mut self.values().collect::<Vec<u64>>(), ranks),
            });
        };
        let mut counts = (many.first..).zip(&many.buckets);
        let (mut before, mut reached) = (0, self.max as f64);
        Some(ranks.map(|rank| {
            while before as f64 <= rank {
                let Some((bucket, &count)) = counts.next() else { return self.max as f64 };
                before += u64::from(count);
                reached = middle(bucket).clamp(self.min as f64, self.max as f64);
            }
            reached
        }))
    }

    /// Median.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// Share of the values in `low..=high`. With a histogram, a bucket counts completely or not at all.
    pub fn share_within(&self, low: f64, high: f64) -> f64 {
        let (range, counted) = (low..=high, self.many.is_some());
        let inside = |value: u64| range.contains(&if counted { middle(bucket(value)) } else { value as f64 });
        let kept = self.values().filter(|&value| inside(value)).count() as u64;
        let buckets = self.many.iter().flat_map(|many| (many.first..).zip(&many.buckets));
        let buckets = buckets.filter(|&(bucket, _)| range.contains(&middle(bucket)));
        let within = kept + buckets.map(|(_, &count)| u64::from(count)).sum::<u64>();
        if self.count() == 0 { 0.0 } else { within as f64 / self.count() as f64 }
    }
}

/// Sorts the values and returns those at some ranks. Between two values it goes in proportion.
fn between<T: Copy + Ord + Into<u64>, const N: usize>(values: &mut [T], ranks: [f64; N]) -> [f64; N] {
    values.sort_unstable();
    ranks.map(|rank| {
        let below = libm::floor(rank);
        let (low, high): (u64, u64) =
            (values[below as usize].into(), values[libm::ceil(rank) as usize].into());
        low as f64 + (high - low) as f64 * (rank - below)
    })
}

/// Values as they are kept.
#[derive(Clone)]
struct Values<'a>(&'a [u32]);

impl Iterator for Values<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (value, rest) = match self.0 {
            [WIDE, high, low, rest @ ..] => (u64::from(*high) << 32 | u64::from(*low), rest),
            [word, rest @ ..] => (u64::from(*word), rest),
            [] => return None,
        };
        self.0 = rest;
        Some(value)
    }
}

impl Histogram {
    /// Adds values. Returns the smallest and the largest one.
    fn extend(&mut self, values: impl Iterator<Item = u64>) -> (u64, u64) {
        let (mut least, mut most) = (u64::MAX, 0);
        let (mut count, mut sum, mut squares) = (0, 0_u128, 0_u128);
        for value in values {
            (least, most) = (least.min(value), most.max(value));
            count += 1;
            sum += u128::from(value);
            squares = squares.saturating_add(u128::from(value) * u128::from(value));
            self.count_in(bucket(value));
        }
        self.count += count;
        self.sum += sum;
        self.squares = self.squares.saturating_add(squares);
        (least, most)
    }

    #[inline]
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
        self.count_in(bucket(value));
    }

    #[inline]
    fn count_in(&mut self, bucket: usize) {
        match self.buckets.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.widen(bucket),
        }
    }

    /// Counts a value outside the existing buckets.
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

/// Bucket of a value. Values up to 255 have a bucket each; each power of two above has 128 buckets.
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

/// Words kept without an allocation. They take no more room than a `Vec`.
const INLINE: usize = 4;
/// Words kept of values as they are.
const KEPT: usize = 256;
/// Word before a value that needs two. In nanoseconds these are times from 4.3 s on.
const WIDE: u32 = u32::MAX;
/// Most words of one value.
const WORDS: usize = 3;

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
            for (n, &value) in values.iter().enumerate() {
                samples.push(value);
                if n % 97 == 0 {
                    samples = samples.clone();
                }
            }
            let mut sorted = values.clone();
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            prop_assert_eq!((samples.count(), samples.mean()), (values.len() as u64, Some(mean)));
            sorted.sort_unstable();
            let exact = sorted[(q * (values.len() - 1) as f64) as usize] as f64;
            let ours = samples.quantile(q).unwrap();
            prop_assert!((ours - exact).abs() <= exact / 256.0 + 1.0, "{ours} {exact}");
            prop_assert_eq!((samples.min(), samples.max()), (Some(sorted[0]), Some(sorted[sorted.len() - 1])));
        }

        #[test]
        fn several_values_at_once_are_the_same_as_one_by_one(
            parts in proptest::collection::vec(proptest::collection::vec(0u64..1 << 34, 0..120), 0..6), q in 0.0..1.0f64,
        ) {
            let (mut at_once, mut each) = (Samples::default(), Samples::default());
            for part in &parts {
                at_once.extend(part.iter().copied());
                part.iter().for_each(|&value| each.push(value));
                let told = |of: &Samples| (of.count(), of.min(), of.max(), of.mean(), of.quantile(q));
                prop_assert_eq!(told(&at_once), told(&each));
                prop_assert_eq!(at_once.standard_deviation(), each.standard_deviation());
            }
        }

        #[test]
        fn buckets_hold_what_they_say(value in any::<u64>()) {
            prop_assert!((middle(bucket(value)) - value as f64).abs() <= value as f64 / 256.0 + 0.5);
        }
    }
}
