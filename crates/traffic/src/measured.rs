//! Sizes with a measured distribution and the correlation of an ARMA(1,1) process. Z is a process of [`crate::arma`]
//! with mean 0 and variance 1. Each size is Q(F(Z)), with the normal distribution function F and the measured quantiles
//! Q ("autoregressive to anything": Cario and Nelson, Operations Research Letters 19, 1996).
//!
//! A match that nobody captured has the shape of a sum of independent captured matches, after Branch and Armitage
//! (NetGames 2006), with an estimated mean and standard deviation. docs/models/traffic-fit.md explains how the numbers
//! are fitted. Left out: correlations beyond ARMA(1,1), and those between the summed matches.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::Stream;

use crate::arma::{Arma, ArmaParameters};
use crate::config::{EstimatedMatch, MeasuredMatch, SizeSeries};

impl SizeSeries {
    /// Size that a share `p` of all sizes does not exceed, interpolated linearly between the given quantiles.
    pub fn quantile(&self, p: f64) -> f64 {
        let above = self.quantiles.partition_point(|&(share, _)| share < p);
        let (low, high) = (above.saturating_sub(1), above.min(self.quantiles.len() - 1));
        let ((p0, x0), (p1, x1)) = (self.quantiles[low], self.quantiles[high]);
        if p1 > p0 { x0 + (x1 - x0) * ((p - p0) / (p1 - p0)).clamp(0.0, 1.0) } else { x0 }
    }

    /// Mean of all sizes in bytes.
    pub fn mean(&self) -> f64 {
        self.quantiles.windows(2).map(|w| (w[1].0 - w[0].0) * (w[0].1 + w[1].1) / 2.0).sum()
    }

    /// Variance of all sizes. A segment from `a` to `b` bytes off the mean contributes the mean square of a uniform
    /// distribution.
    fn variance(&self) -> f64 {
        let mean = self.mean();
        let square = |w: &[(f64, f64)]| {
            let (a, b) = (w[0].1 - mean, w[1].1 - mean);
            (w[1].0 - w[0].0) * (a * a + a * b + b * b) / 3.0
        };
        self.quantiles.windows(2).map(square).sum()
    }
}

/// How a match of some number of players is generated: the sum of `parts` times `scale`, plus `shift` bytes.
pub(crate) struct Recipe<'a> {
    pub(crate) parts: Vec<&'a SizeSeries>,
    pub(crate) scale: f64,
    pub(crate) shift: f64,
}

/// Recipe for a captured or estimated match of `players` players. `None` if the model has no such match.
pub(crate) fn recipe<'a>(
    matches: &'a [MeasuredMatch],
    estimated: &[EstimatedMatch],
    players: u32,
) -> Option<Recipe<'a>> {
    let captured = |players| matches.iter().find(|one| one.players == players).map(|one| &one.series);
    if let Some(series) = captured(players) {
        return Some(Recipe { parts: vec![series], scale: 1.0, shift: 0.0 });
    }
    let estimate = estimated.iter().find(|one| one.players == players)?;
    let parts: Vec<&SizeSeries> = estimate.sum.iter().copied().filter_map(captured).collect();
    // The parts are independent, so their variances add up.
    let sd = libm::sqrt(parts.iter().map(|part| part.variance()).sum());
    let scale = if sd > 0.0 { estimate.sd / sd } else { 0.0 };
    let mean: f64 = parts.iter().map(|part| part.mean()).sum();
    Some(Recipe { parts, scale, shift: estimate.mean - scale * mean })
}

/// A [`SizeSeries`] with its state.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    shape: SizeSeries,
    arma: Arma,
}

impl Series {
    pub(crate) fn new(shape: SizeSeries, rng: Stream) -> Self {
        assert!(shape.quantiles.len() >= 2, "a distribution needs its smallest and largest value at least");
        let SizeSeries { phi, theta, .. } = shape;
        let arma = Arma::new(ArmaParameters { mean: 0.0, sd: 1.0, phi, theta }, rng);
        Self { shape, arma }
    }

    pub(crate) fn next_value(&mut self) -> f64 {
        let share = 0.5 * libm::erfc(-self.arma.next_value() * core::f64::consts::FRAC_1_SQRT_2);
        self.shape.quantile(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, TrafficSource};
    use crate::config::{
        AppConfig, ClientStream, CommandSize, GameConfig, Schedule, ServerStream, UpdateSize,
    };
    use crate::source::{Source, build};
    use gamelane_core::dist::Dist;
    use gamelane_core::{Duration, Instant, Seed};

    fn skewed(phi: f64, theta: f64) -> SizeSeries {
        SizeSeries { phi, theta, quantiles: vec![(0.0, 20.0), (0.5, 60.0), (0.9, 100.0), (1.0, 300.0)] }
    }

    #[test]
    fn quantiles_are_linear_between_their_points_and_stay_within_them() {
        let series = skewed(0.0, 0.0);
        for (p, size) in
            [(-1.0, 20.0), (0.0, 20.0), (0.25, 40.0), (0.5, 60.0), (0.95, 200.0), (1.0, 300.0), (2.0, 300.0)]
        {
            assert!((series.quantile(p) - size).abs() < 1e-9, "{p}: {}", series.quantile(p));
        }
        // 0.5 * 40 + 0.4 * 80 + 0.1 * 200.
        assert!((series.mean() - 72.0).abs() < 1e-12);
    }

    #[test]
    fn a_series_has_the_distribution_it_was_given_whatever_its_memory() {
        for (phi, theta) in [(0.0, 0.0), (0.9, -0.5), (-0.4, 0.1)] {
            let mut series = Series::new(skewed(phi, theta), Seed(3).stream("size"));
            let mut sizes: Vec<f64> = (0..200_000).map(|_| series.next_value()).collect();
            sizes.sort_by(f64::total_cmp);
            for (p, size) in [(0.1, 28.0), (0.5, 60.0), (0.9, 100.0), (0.95, 200.0)] {
                let found = sizes[(p * 200_000.0) as usize];
                assert!((found / size - 1.0).abs() < 0.03, "phi {phi}: {found} for {size} at {p}");
            }
        }
    }

    fn game(players: u32, min: u32) -> GameConfig {
        let captured = |players, theta| MeasuredMatch { players, series: skewed(0.9, theta) };
        let estimated = |players, sum| EstimatedMatch {
            players,
            sum,
            mean: 110.0,
            mean_95: (80.0, 150.0),
            sd: 45.0,
            sd_95: (30.0, 60.0),
        };
        GameConfig {
            players,
            server: ServerStream {
                tick: Dist::Constant(0.050),
                jitter: Some(Dist::Normal { mean: 0.0, sd: 0.001 }),
                size: UpdateSize::Measured {
                    matches: vec![captured(2, -0.5), captured(3, 0.2)],
                    estimated: vec![estimated(4, vec![2, 2]), estimated(5, vec![3, 2])],
                    min,
                    max: 1400,
                },
            },
            client: ClientStream {
                interval: vec![(1.0, Dist::Constant(0.033))],
                size: CommandSize::Series(skewed(0.9, 0.0)),
            },
        }
    }

    fn packets(source: &mut Source, n: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut times_ms, mut sizes) = (Vec::new(), Vec::new());
        while sizes.len() < n {
            let now = source.poll_timeout().expect("a game never ends by itself");
            source.handle_timeout(now);
            while let Some(action) = source.poll_action(now) {
                let AppAction::SendDatagram { payload } = action else { panic!("{action:?} from a game") };
                times_ms.push((now - Instant::ZERO).as_millis_f64());
                sizes.push(f64::from(payload));
            }
        }
        (times_ms, sizes)
    }

    fn sides(config: GameConfig) -> (Source, Source) {
        build(
            &AppConfig::Game(config),
            Schedule { start: Duration::from_secs(1), stop: None },
            Seed(4),
            "flow/game",
        )
    }

    /// Returns mean, variance and correlation of neighbours.
    fn moments(x: &[f64]) -> (f64, f64, f64) {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        let together = x.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n;
        (mean, variance, together / variance)
    }

    #[test]
    fn an_estimated_match_has_its_mean_and_deviation_and_the_memory_of_its_parts() {
        let of = |players| moments(&packets(&mut sides(game(players, 1)).1, 200_000).1);
        let (two, three, five) = (of(2), of(3), of(5));
        assert!((two.0 - 72.0).abs() < 1.0, "{two:?}");
        assert!((five.0 - 110.0).abs() < 2.0 && (five.1 / (45.0 * 45.0) - 1.0).abs() < 0.05, "{five:?}");
        assert_eq!(game(5, 1).server.size.mean_payload(5), Some(110.0));
        assert_eq!(game(5, 1).server.size.mean_payload(2), Some(72.0));
        assert_eq!(game(5, 1).server.size.mean_payload(6), None);
        let expected = (two.2 * two.1 + three.2 * three.1) / (two.1 + three.1);
        assert!((five.2 - expected).abs() < 0.02, "{} for {expected}", five.2);
    }

    #[test]
    fn the_parts_of_an_estimated_match_are_independent_and_bounds_hold() {
        // The sum of two copies of the same series would be as skewed as the series.
        let skew = |players| {
            let sizes = packets(&mut sides(game(players, 1)).1, 200_000).1;
            let (mean, variance, _) = moments(&sizes);
            sizes.iter().map(|size| libm::pow(size - mean, 3.0)).sum::<f64>()
                / (sizes.len() as f64 * libm::pow(variance, 1.5))
        };
        assert!((skew(2) / skew(4) / core::f64::consts::SQRT_2 - 1.0).abs() < 0.1);
        let sizes = packets(&mut sides(game(4, 90)).1, 10_000).1;
        assert!(sizes.contains(&90.0) && sizes.iter().all(|size| *size >= 90.0));
    }

    #[test]
    fn a_sum_of_one_size_is_that_size() {
        let one = SizeSeries { phi: 0.0, theta: 0.0, quantiles: vec![(0.0, 60.0), (1.0, 60.0)] };
        let mut config = game(4, 1);
        let UpdateSize::Measured { matches, .. } = &mut config.server.size else { unreachable!() };
        matches[0].series = one;
        assert!(packets(&mut sides(config).1, 100).1.iter().all(|size| (size - 110.0).abs() < 1e-9));
    }

    #[test]
    fn jitter_leaves_the_grid_where_it_is() {
        let times_ms = packets(&mut sides(game(2, 1)).1, 20_000).0;
        let gaps: Vec<f64> = times_ms.windows(2).map(|w| w[1] - w[0]).collect();
        let (mean, variance, lag_one) = moments(&gaps);
        assert!((mean - 50.0).abs() < 0.001 && (variance / 2.0 - 1.0).abs() < 0.05, "{mean} {variance}");
        assert!((lag_one + 0.5).abs() < 0.03, "{lag_one}");
    }

    #[test]
    fn commands_may_have_memory_too() {
        let (mean, _, lag_one) = moments(&packets(&mut sides(game(2, 1)).0, 100_000).1);
        assert!((mean - 72.0).abs() < 1.5, "{mean}");
        assert!((0.8..0.9).contains(&lag_one), "{lag_one}");
    }
}
