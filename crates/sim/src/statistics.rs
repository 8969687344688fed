//! Order statistics by the conventions of reference/measurement.md section 6: quantiles interpolate between order
//! statistics (type 7 of Hyndman and Fan, as R and numpy).

use alloc::vec::Vec;

/// The eight numbers given of every distribution, in the unit of its samples. Without samples they mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// How many samples there are.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Quantiles 5, 25, 50, 75, 95 and 99 %.
    pub quantiles: [f64; 6],
    /// Largest.
    pub max: f64,
}

impl Distribution {
    /// Which quantiles are given.
    pub const QUANTILES: [f64; 6] = [0.05, 0.25, 0.50, 0.75, 0.95, 0.99];

    /// Of these samples, in whatever order; takes them to partition in place.
    pub fn of(mut samples: Vec<u64>) -> Self {
        let Some(max) = samples.iter().max().copied() else { return Self::default() };
        let count = samples.len();
        let sum: u128 = samples.iter().map(|sample| u128::from(*sample)).sum();
        let mut quantiles = [0.0; 6];
        // Each selection leaves everything below it sorted out of the way of the next.
        let mut start = 0;
        for (value, quantile) in quantiles.iter_mut().zip(Self::QUANTILES) {
            let position = quantile * (count - 1) as f64;
            let below = position as usize;
            let (_, &mut low, above) = samples[start..].select_nth_unstable(below - start);
            let high = above.iter().min().map_or(low, |next| *next);
            *value = low as f64 + (high - low) as f64 * (position - below as f64);
            start = below;
        }
        Self { count, mean: sum as f64 / count as f64, quantiles, max: max as f64 }
    }

    /// One quantile of these samples, which are reordered; 0 if there are none.
    pub fn quantile(samples: &mut [u64], quantile: f64) -> f64 {
        let Some(last) = samples.len().checked_sub(1) else { return 0.0 };
        let position = quantile * last as f64;
        let below = position as usize;
        let (_, &mut low, above) = samples.select_nth_unstable(below);
        let high = above.iter().min().map_or(low, |next| *next);
        low as f64 + (high - low) as f64 * (position - below as f64)
    }

    /// Every number divided by `divisor`: nanoseconds to milliseconds and the like.
    pub fn scaled(self, divisor: f64) -> Self {
        Self {
            count: self.count,
            mean: self.mean / divisor,
            quantiles: self.quantiles.map(|quantile| quantile / divisor),
            max: self.max / divisor,
        }
    }
}

/// Mean and coefficient of variation (sample standard deviation over mean); zero where undefined.
pub fn mean_and_cv(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 || mean <= 0.0 {
        return (mean, 0.0);
    }
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0);
    (mean, libm::sqrt(variance) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn quantiles_are_those_of_r_type_7() {
        // quantile(c(1..10), c(.05,.25,.5,.75,.95,.99)) in R: 1.45 3.25 5.50 7.75 9.55 9.91.
        let all = Distribution::of(vec![10, 3, 5, 1, 9, 2, 8, 4, 7, 6]);
        let expected = [1.45, 3.25, 5.50, 7.75, 9.55, 9.91];
        for (ours, theirs) in all.quantiles.iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-9, "{ours} against {theirs}");
        }
        assert!((all.mean - 5.5).abs() < 1e-12 && (all.max - 10.0).abs() < 1e-12);
    }

    #[test]
    fn few_samples_are_no_trouble() {
        assert_eq!(Distribution::of(vec![]), Distribution::default());
        assert!(Distribution::of(vec![7]).quantiles.iter().all(|q| (q - 7.0).abs() < 1e-12));
        assert!(Distribution::of(vec![4, 4]).quantiles.iter().all(|q| (q - 4.0).abs() < 1e-12));
    }

    #[test]
    fn variation_of_constant_windows_is_zero() {
        assert_eq!(mean_and_cv(&[5.0, 5.0, 5.0]), (5.0, 0.0));
        // Sample sd of 1, 3 is sqrt(2); mean 2.
        assert!((mean_and_cv(&[1.0, 3.0]).1 - libm::sqrt(2.0) / 2.0).abs() < 1e-12);
    }
}
