//! The ARMA(1,1) process of the sizes of server updates: X(t) - m = f (X(t-1) - m) + e(t) + h e(t-1), with normal
//! innovations e. Branch and Armitage (NetGames 2006) find this form in measured games. Their coefficients are not
//! public, so ours are labelled as defaults. Truncation to valid sizes is left to the caller.

use gamelane_core::Stream;
use gamelane_core::dist::standard_normal;

/// Parameters of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmaParameters {
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of the values.
    pub sd: f64,
    /// Autoregressive coefficient f; its absolute value must be below 1.
    pub phi: f64,
    /// Moving-average coefficient h.
    pub theta: f64,
}

impl ArmaParameters {
    /// Variance of X divided by the variance of e: (1 + 2 f h + h²) / (1 - f²).
    pub fn gain(&self) -> f64 {
        let Self { phi, theta, .. } = *self;
        (1.0 + 2.0 * phi * theta + theta * theta) / (1.0 - phi * phi)
    }

    /// Correlation of successive values: (f + h)(1 + f h) / (1 + 2 f h + h²).
    pub fn lag_one_correlation(&self) -> f64 {
        let Self { phi, theta, .. } = *self;
        (phi + theta) * (1.0 + phi * theta) / (1.0 + 2.0 * phi * theta + theta * theta)
    }
}

/// A running process. It is stationary from its first value.
#[derive(Clone, Debug)]
pub struct Arma {
    parameters: ArmaParameters,
    innovation_sd: f64,
    /// X - m of the last value.
    deviation: f64,
    /// e of the last value.
    innovation: f64,
    rng: Stream,
}

impl Arma {
    /// Starts the process in its stationary distribution.
    ///
    /// # Panics
    /// Unless |phi| < 1.
    pub fn new(parameters: ArmaParameters, mut rng: Stream) -> Self {
        assert!(parameters.phi.abs() < 1.0, "an ARMA process is stationary only for |phi| < 1");
        let innovation_sd = parameters.sd / libm::sqrt(parameters.gain());
        // Given e, X - m is e plus an independent normal variable with the rest of the variance.
        let innovation = innovation_sd * standard_normal(&mut rng);
        let rest = (parameters.sd * parameters.sd - innovation_sd * innovation_sd).max(0.0);
        let deviation = innovation + libm::sqrt(rest) * standard_normal(&mut rng);
        Self { parameters, innovation_sd, deviation, innovation, rng }
    }

    /// Returns the next value.
    pub fn next_value(&mut self) -> f64 {
        let innovation = self.innovation_sd * standard_normal(&mut self.rng);
        let ArmaParameters { mean, phi, theta, .. } = self.parameters;
        self.deviation = phi * self.deviation + innovation + theta * self.innovation;
        self.innovation = innovation;
        mean + self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Seed;
    use std::vec::Vec;

    #[test]
    fn mean_deviation_and_lag_one_correlation_meet_their_formulas() {
        for (phi, theta) in [(0.7, -0.3), (0.0, 0.0), (0.9, 0.4), (-0.5, 0.2)] {
            let parameters = ArmaParameters { mean: 152.0, sd: 25.2, phi, theta };
            let mut arma = Arma::new(parameters, Seed(5).stream("size"));
            let x: Vec<f64> = (0..200_000).map(|_| arma.next_value() - 152.0).collect();
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|v| v * v).sum::<f64>() / n - mean * mean;
            let lag_one =
                x.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / (n - 1.0) / variance;
            assert!(mean.abs() < 1.0, "phi {phi}: mean off by {mean}");
            assert!((libm::sqrt(variance) / 25.2 - 1.0).abs() < 0.02, "phi {phi}: variance {variance}");
            let expected = parameters.lag_one_correlation();
            assert!((lag_one - expected).abs() < 0.01, "phi {phi}: {lag_one} against {expected}");
        }
    }

    #[test]
    fn the_first_value_is_already_stationary() {
        let parameters = ArmaParameters { mean: 0.0, sd: 10.0, phi: 0.95, theta: 0.0 };
        let n = 20_000;
        let variance = (0..n)
            .map(|seed| Arma::new(parameters, Seed(seed).stream("size")).next_value())
            .map(|x| x * x)
            .sum::<f64>()
            / n as f64;
        assert!((variance / 100.0 - 1.0).abs() < 0.05, "{variance}");
    }
}
