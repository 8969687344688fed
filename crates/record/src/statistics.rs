//! Order statistics. Quantiles interpolate linearly between order statistics: type 7 of R. J. Hyndman, Y. Fan, "Sample
//! Quantiles in Statistical Packages", 1996, the default of R and numpy.

use alloc::vec::Vec;

use serde::Serialize;

/// Mean, quantiles and largest of some samples, in the unit of the samples. JSON writes null for each without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(into = "Numbers")]
pub struct Distribution {
    /// Number of samples.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Quantiles 5, 25, 50, 75, 95 and 99 %.
    pub quantiles: [f64; 6],
    /// Largest.
    pub max: f64,
}

impl Distribution {
    /// The quantiles given, as fractions.
    pub const QUANTILES: [f64; 6] = [0.05, 0.25, 0.50, 0.75, 0.95, 0.99];

    /// Describes samples in any order; partitions them in place.
    pub fn of(mut samples: Vec<u64>) -> Self {
        let Some(max) = samples.iter().max().copied() else { return Self::default() };
        let count = samples.len();
        let sum: u128 = samples.iter().map(|sample| u128::from(*sample)).sum();
        let mut quantiles = [0.0; 6];
        // Everything below one quantile is below the next, so each selection starts where the last one ended.
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

    /// Describes nanoseconds in milliseconds.
    pub fn of_nanos(samples: Vec<u64>) -> Self {
        Self::of(samples).scaled(NANOS_PER_MILLI)
    }

    /// Returns one quantile of samples and reorders them; `None` without samples.
    pub fn quantile(samples: &mut [u64], quantile: f64) -> Option<f64> {
        let last = samples.len().checked_sub(1)?;
        let position = quantile * last as f64;
        let below = position as usize;
        let (_, &mut low, above) = samples.select_nth_unstable(below);
        let high = above.iter().min().map_or(low, |next| *next);
        Some(low as f64 + (high - low) as f64 * (position - below as f64))
    }

    /// Divides every number by `divisor`, for another unit.
    pub fn scaled(self, divisor: f64) -> Self {
        Self {
            count: self.count,
            mean: self.mean / divisor,
            quantiles: self.quantiles.map(|quantile| quantile / divisor),
            max: self.max / divisor,
        }
    }
}

/// Nanoseconds in a millisecond.
pub const NANOS_PER_MILLI: f64 = 1e6;

/// Mean, quantiles and largest of some samples; each is null without samples.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Distribution"))]
pub(crate) struct Numbers {
    /// Arithmetic mean.
    mean: Option<f64>,
    /// 5 % quantile.
    p5: Option<f64>,
    /// 25 % quantile.
    p25: Option<f64>,
    /// Median.
    p50: Option<f64>,
    /// 75 % quantile.
    p75: Option<f64>,
    /// 95 % quantile.
    p95: Option<f64>,
    /// 99 % quantile.
    p99: Option<f64>,
    /// Largest.
    max: Option<f64>,
}

impl From<Distribution> for Numbers {
    fn from(of: Distribution) -> Self {
        let known = |number| (of.count > 0).then_some(number);
        let [p5, p25, p50, p75, p95, p99] = of.quantiles.map(known);
        Self { mean: known(of.mean), p5, p25, p50, p75, p95, p99, max: known(of.max) }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Distribution {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        Numbers::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Numbers::json_schema(generator)
    }
}

/// Mean over one-second windows and its spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variation {
    /// Arithmetic mean; 0 without windows.
    pub mean: f64,
    /// Coefficient of variation: sample standard deviation (divisor n - 1) over mean. 0 with fewer than two windows or
    /// without traffic.
    pub cv: f64,
}

impl Variation {
    /// Describes values, one per window.
    pub fn of(values: &[f64]) -> Self {
        let mean = mean(values.iter().copied()).unwrap_or(0.0);
        if values.len() < 2 || mean <= 0.0 {
            return Self { mean, cv: 0.0 };
        }
        let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        Self { mean, cv: libm::sqrt(squares / (values.len() - 1) as f64) / mean }
    }
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// Mean distance of samples from their mean; `None` without samples.
pub fn mean_deviation(samples: &[u64]) -> Option<f64> {
    let middle = mean(samples.iter().map(|sample| *sample as f64))?;
    mean(samples.iter().map(|sample| (*sample as f64 - middle).abs()))
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
        assert!((Distribution::quantile(&mut [3, 1, 2], 0.5).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn few_samples_need_no_special_case() {
        assert_eq!(Distribution::of(vec![]), Distribution::default());
        assert_eq!(Distribution::quantile(&mut [], 0.5), None);
        assert!(Distribution::of(vec![7]).quantiles.iter().all(|q| (q - 7.0).abs() < 1e-12));
        assert!(Distribution::of(vec![4, 4]).quantiles.iter().all(|q| (q - 4.0).abs() < 1e-12));
    }

    #[test]
    fn no_samples_are_null_in_json() {
        let text = serde_json::to_string(&Distribution::default()).unwrap();
        let nulls =
            r#"{"mean":null,"p5":null,"p25":null,"p50":null,"p75":null,"p95":null,"p99":null,"max":null}"#;
        assert_eq!(text, nulls);
    }

    #[test]
    fn variation_uses_the_sample_standard_deviation() {
        assert_eq!(Variation::of(&[5.0, 5.0, 5.0]), Variation { mean: 5.0, cv: 0.0 });
        // The sample standard deviation of 1 and 3 is sqrt(2), their mean 2.
        assert!((Variation::of(&[1.0, 3.0]).cv - libm::sqrt(2.0) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_deviation_of_nothing_is_unknown() {
        assert_eq!(mean_deviation(&[]), None);
        assert_eq!(mean_deviation(&[1, 3]), Some(1.0));
    }
}
