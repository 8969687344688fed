//! Random distributions for traffic models. The largest-extreme-value form is that of D-ITG and ns-3, the ex-Gaussian
//! that of Cricenti and Branch. All functions come from `libm`, so a seed gives the same draws on every platform.

use alloc::sync::Arc;

use crate::rng::Stream;

/// Draws from the standard normal distribution (Box and Muller 1958).
pub fn standard_normal(rng: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(rng.open_unit()));
    radius * libm::cos(core::f64::consts::TAU * rng.unit())
}

/// A one-dimensional distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dist {
    /// Always the same value.
    Constant(f64),
    /// Uniform from `lo` up to `hi`.
    Uniform {
        /// Lower bound, included.
        lo: f64,
        /// Upper bound, excluded.
        hi: f64,
    },
    /// Gaussian.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Mean of ln x.
        mu: f64,
        /// Standard deviation of ln x.
        sigma: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Largest extreme value (Gumbel): a - b ln(-ln u), where u is uniform in (0, 1).
    Lev {
        /// Location.
        a: f64,
        /// Scale.
        b: f64,
    },
    /// Sum of a normal and an exponential variable.
    ExGaussian {
        /// Mean of the normal part.
        mu: f64,
        /// Standard deviation of the normal part.
        sigma: f64,
        /// Mean of the exponential part.
        tau: f64,
    },
}

impl Dist {
    /// Draws one value. `Normal`, `Lev` and `ExGaussian` can be negative: the caller truncates.
    pub fn sample(&self, rng: &mut Stream) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Uniform { lo, hi } => lo + (hi - lo) * rng.unit(),
            Self::Normal { mean, sd } => mean + sd * standard_normal(rng),
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * standard_normal(rng)),
            Self::Exponential { mean } => -mean * libm::log(rng.open_unit()),
            Self::Lev { a, b } => a - b * libm::log(-libm::log(rng.open_unit())),
            Self::ExGaussian { mu, sigma, tau } => {
                mu + sigma * standard_normal(rng) - tau * libm::log(rng.open_unit())
            }
        }
    }

    /// The expected value.
    pub fn mean(&self) -> f64 {
        const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
        match *self {
            Self::Constant(value) => value,
            Self::Uniform { lo, hi } => (lo + hi) / 2.0,
            Self::Normal { mean, .. } | Self::Exponential { mean } => mean,
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
            Self::Lev { a, b } => a + EULER_GAMMA * b,
            Self::ExGaussian { mu, tau, .. } => mu + tau,
        }
    }
}

/// A mixture of distributions. Each draw first picks one part by weight, then draws from it. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    parts: Arc<[(f64, Dist)]>,
    total: f64,
}

impl Mixture {
    /// Makes a mixture from pairs of weight and distribution. The weights need not add up to one.
    ///
    /// # Panics
    ///
    /// If `parts` is empty.
    pub fn new(parts: &[(f64, Dist)]) -> Self {
        assert!(!parts.is_empty(), "a mixture needs at least one part");
        Self { parts: parts.into(), total: parts.iter().map(|(weight, _)| weight).sum() }
    }

    /// The expected value.
    pub fn mean(&self) -> f64 {
        self.parts.iter().map(|(weight, dist)| weight * dist.mean()).sum::<f64>() / self.total
    }

    /// Draws one value.
    pub fn sample(&self, rng: &mut Stream) -> f64 {
        let mut left = self.total * rng.unit();
        let mut chosen = self.parts[0].1;
        for &(weight, dist) in self.parts.iter() {
            chosen = dist;
            if left < weight {
                break;
            }
            left -= weight;
        }
        chosen.sample(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    #[test]
    fn sample_means_meet_their_formulas() {
        let all = [
            Dist::Uniform { lo: 2.0, hi: 6.0 },
            Dist::Normal { mean: 64.15, sd: 3.2 },
            Dist::LogNormal { mu: 1.0, sigma: 0.5 },
            Dist::Exponential { mean: 4.29 },
            Dist::Lev { a: 120.0, b: 36.0 },
            Dist::ExGaussian { mu: 100.0, sigma: 10.0, tau: 20.0 },
        ];
        for dist in all {
            let mut rng = Seed(3).stream("dist");
            let n = 200_000;
            let mean = (0..n).map(|_| dist.sample(&mut rng)).sum::<f64>() / f64::from(n);
            let formula = dist.mean();
            assert!(
                (mean / formula - 1.0).abs() < 0.01,
                "{dist:?}: mean of the draws {mean}, formula {formula}"
            );
        }
    }

    #[test]
    fn the_ngmn_download_size_has_its_published_mean() {
        // Download size of the NGMN gaming model: LEV(120, 36), so 120 + 0.577 * 36 = 140.8 B.
        assert!((Dist::Lev { a: 120.0, b: 36.0 }.mean() - 140.8).abs() < 0.05);
    }
}
