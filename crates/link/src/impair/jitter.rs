//! Random draws of jitter. The quantile function of the wanted distribution maps a series of correlated normal numbers
//! (a Gaussian copula). So the correlation does not change the distribution.

use gamelane_core::dist::standard_normal;
use gamelane_core::{Duration, Stream};

use super::config::{CLIP, Jitter, JitterShape};

/// Jitter of one direction: the random stream and the last normal number.
#[derive(Debug)]
pub(super) struct JitterProcess {
    rng: Stream,
    /// Normal number of the packet before.
    last: f64,
}

impl JitterProcess {
    pub(super) const fn new(rng: Stream) -> Self {
        Self { rng, last: 0.0 }
    }

    /// Returns `delay` plus a draw of jitter, at least zero.
    pub(super) fn delay(&mut self, delay: Duration, jitter: &Jitter) -> Duration {
        if jitter.spread.is_zero() {
            return delay;
        }
        let Jitter { correlation, .. } = *jitter;
        let fresh = standard_normal(&mut self.rng);
        self.last = correlation * self.last + libm::sqrt(1.0 - correlation * correlation) * fresh;
        let varied = delay.as_secs_f64() + jitter.spread.as_secs_f64() * jitter.shape.at(self.last);
        Duration::from_secs_f64(varied)
    }
}

impl JitterShape {
    /// Maps a standard normal number to the value of this shape with the same quantile.
    pub(super) fn at(&self, normal: f64) -> f64 {
        // Probability of a larger number. Computing it directly, not as 1 - p, keeps all digits in the long tail.
        let above = 0.5 * libm::erfc(normal * core::f64::consts::FRAC_1_SQRT_2);
        let pareto = || ((libm::cbrt(1.0 / above) - 1.5) * (4.0 / 3.0)).min(CLIP);
        match self {
            Self::Uniform => 1.0 - 2.0 * above,
            Self::Normal => normal.clamp(-CLIP, CLIP),
            Self::Pareto => pareto(),
            Self::ParetoNormal => (0.25 * normal + 0.75 * pareto()).clamp(-CLIP, CLIP),
            Self::Table(quantiles) => interpolate(quantiles, 1.0 - above),
        }
    }
}

/// Interpolates between evenly spaced quantiles, where `share` is a probability.
fn interpolate(quantiles: &[f64], share: f64) -> f64 {
    let last = quantiles.len() - 1;
    let place = share * last as f64;
    let below = (place as usize).min(last - 1);
    let part = place - below as f64;
    quantiles[below] + part * (quantiles[below + 1] - quantiles[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;
    use std::vec;
    use std::vec::Vec;

    fn draws(shape: JitterShape, correlation: f64) -> Vec<f64> {
        let jitter =
            Jitter { spread: Duration::from_millis(1), shape, correlation, order: super::super::Order::Kept };
        let mut process = JitterProcess::new(Seed(1).stream("jitter"));
        let base = Duration::from_millis(100);
        (0..100_000).map(|_| process.delay(base, &jitter).as_millis_f64() - 100.0).collect()
    }

    fn mean_sd(of: &[f64]) -> (f64, f64) {
        let n = of.len() as f64;
        let mean = of.iter().sum::<f64>() / n;
        (mean, libm::sqrt(of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n))
    }

    fn near(shape: JitterShape, expected: (f64, f64)) {
        let (mean, sd) = mean_sd(&draws(shape.clone(), 0.0));
        assert!((mean - expected.0).abs() < 0.015, "{shape:?}: mean {mean}");
        assert!((sd - expected.1).abs() < 0.015, "{shape:?}: sd {sd}");
    }

    /// Compares mean and standard deviation of the draws with those integrated from the quantile functions, clip
    /// included: the mean is ∫ q(u) du.
    #[test]
    fn shapes_have_the_moments_of_their_quantiles() {
        let moments = |shape: &JitterShape| {
            // Midpoint rule over the normal number, weighted by its density.
            let step = 1e-3;
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            for k in -8_000..8_000 {
                let z = (f64::from(k) + 0.5) * step;
                let weight = libm::exp(-z * z / 2.0);
                let x = shape.at(z);
                mass += weight;
                first += weight * x;
                second += weight * x * x;
            }
            let mean = first / mass;
            (mean, libm::sqrt(second / mass - mean * mean))
        };
        let uniform = moments(&JitterShape::Uniform);
        assert!(uniform.0.abs() < 1e-6 && (uniform.1 - libm::sqrt(1.0 / 3.0)).abs() < 1e-4, "{uniform:?}");
        let pareto = moments(&JitterShape::Pareto);
        // The clip lowers the mean from zero by 4/3 ∫ (x - 4.5) dF over x > 4.5, which is (4/3) 4.5^-2 / 2.
        assert!((pareto.0 + 4.0 / 3.0 / (2.0 * 4.5 * 4.5)).abs() < 1e-4, "{pareto:?}");
        for shape in
            [JitterShape::Uniform, JitterShape::Normal, JitterShape::Pareto, JitterShape::ParetoNormal]
        {
            let expected = moments(&shape);
            near(shape, expected);
        }
        near(JitterShape::Table(vec![-1.0, 0.0, 3.0].into()), (0.5, libm::sqrt(5.0 / 3.0 - 0.25)));
    }

    #[test]
    fn correlation_keeps_the_distribution_and_joins_neighbours() {
        for shape in [JitterShape::Uniform, JitterShape::Normal] {
            let (alone, together) = (draws(shape.clone(), 0.0), draws(shape, 0.8));
            let ((_, sd), (_, correlated)) = (mean_sd(&alone), mean_sd(&together));
            assert!((sd - correlated).abs() < 0.03 * sd, "sd {sd}, with correlation {correlated}");
            let lag_one = |of: &[f64]| {
                let (mean, sd) = mean_sd(of);
                of.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>()
                    / (of.len() as f64 * sd * sd)
            };
            assert!(lag_one(&alone).abs() < 0.02);
            assert!((lag_one(&together) - 0.8).abs() < 0.03, "{}", lag_one(&together));
        }
    }

    #[test]
    fn a_delay_is_never_below_nothing() {
        let mut process = JitterProcess::new(Seed(1).stream("jitter"));
        let jitter = Jitter { spread: Duration::from_millis(10), ..Jitter::default() };
        let delays: Vec<_> = (0..1000).map(|_| process.delay(Duration::from_millis(1), &jitter)).collect();
        assert!(delays.contains(&Duration::ZERO));
        assert!(delays.iter().all(|delay| *delay <= Duration::from_millis(11)));
    }
}
