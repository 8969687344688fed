//! The distributions traffic models are written in (reference/game-traffic.md section 0), over `libm` so that a seed
//! gives the same packets on every platform.

use alloc::sync::Arc;

use crate::rng::Stream;

/// Standard normal deviate (Box and Muller 1958).
pub fn standard_normal(rng: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(rng.open_unit()));
    radius * libm::cos(core::f64::consts::TAU * rng.unit())
}

/// A one-dimensional distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dist {
    /// Always the same value.
    Constant(f64),
    /// Uniform between two bounds.
    Uniform {
        /// Lower bound.
        lo: f64,
        /// Upper bound.
        hi: f64,
    },
    /// Gaussian.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
    /// Log-normal by the parameters of the logarithm.
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
    /// Largest extreme value (Gumbel): a - b ln(-ln u).
    Lev {
        /// Location.
        a: f64,
        /// Scale.
        b: f64,
    },
    /// Sum of a normal and an exponential.
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
    /// One draw.
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

/// A mixture of distributions: each draw first picks one of them by weight. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    parts: Arc<[(f64, Dist)]>,
    total: f64,
}

impl Mixture {
    /// Of parts with their weights, which need not add up to one.
    ///
    /// # Panics
    ///
    /// If there is no part.
    pub fn new(parts: &[(f64, Dist)]) -> Self {
        assert!(!parts.is_empty(), "a mixture needs at least one part");
        Self { parts: parts.into(), total: parts.iter().map(|(weight, _)| weight).sum() }
    }

    /// The expected value.
    pub fn mean(&self) -> f64 {
        self.parts.iter().map(|(weight, dist)| weight * dist.mean()).sum::<f64>() / self.total
    }

    /// One draw.
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
            assert!((mean / dist.mean() - 1.0).abs() < 0.01, "{dist:?}: {mean} against {}", dist.mean());
        }
    }

    #[test]
    fn the_ngmn_download_size_has_its_published_mean() {
        // LEV(120, 36): 120 + 0.577 * 36 = 140.8 B (reference/game-traffic.md section 9).
        assert!((Dist::Lev { a: 120.0, b: 36.0 }.mean() - 140.8).abs() < 0.05);
    }
}
