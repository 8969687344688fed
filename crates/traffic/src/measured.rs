//! Sizes with a measured distribution and the correlation of an ARMA(1,1) process. Z is a process of [`crate::arma`]
//! with mean 0 and variance 1. Each size is Q(F(Z)), with the normal distribution function F and the measured quantiles
//! Q ("autoregressive to anything": Cario and Nelson, Operations Research Letters 19, 1996).
//!
//! A match with more players than were captured is a sum of independent smaller matches, after Branch and Armitage
//! (NetGames 2006). docs/models/traffic-fit.md explains how the numbers are fitted. Left out: correlations beyond
//! ARMA(1,1), and those between the summed matches.

use alloc::vec;
use alloc::vec::Vec;
use gamelane_core::Stream;

use crate::arma::{Arma, ArmaParameters};
use crate::config::{MeasuredMatch, SizeSeries};

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
}

/// Captured matches whose players add up to `players`: a single one if it was captured, otherwise as few as possible,
/// with the larger ones first. `None` if no sum fits.
pub fn parts(captured: &[u32], players: u32) -> Option<Vec<u32>> {
    // fewest[n]: the number of matches needed for n players, and the largest of them.
    let mut fewest: Vec<Option<(u32, u32)>> = vec![None; players as usize + 1];
    fewest[0] = Some((0, 0));
    for n in 1..=players {
        let choices = captured.iter().filter(|&&size| size >= 1 && size <= n).filter_map(|&size| {
            let (count, _) = fewest[(n - size) as usize]?;
            Some((count + 1, size))
        });
        fewest[n as usize] = choices.min_by_key(|&(count, size)| (count, core::cmp::Reverse(size)));
    }
    let mut sizes = Vec::new();
    let mut left = players;
    while left > 0 {
        let (_, size) = fewest[left as usize]?;
        sizes.push(size);
        left -= size;
    }
    Some(sizes)
}

/// Sizes of a match of `players` players: the series of the matches that [`parts`] selects. Each series contains the
/// bytes that are independent of the players. The number says how many times too often they count. `None` if no sum of
/// matches fits.
pub fn compose(matches: &[MeasuredMatch], players: u32) -> Option<(Vec<&SizeSeries>, u32)> {
    let captured: Vec<u32> = matches.iter().map(|captured| captured.players).collect();
    let chosen: Vec<&SizeSeries> = parts(&captured, players)?
        .into_iter()
        .filter_map(|size| matches.iter().find(|captured| captured.players == size))
        .map(|captured| &captured.series)
        .collect();
    let excess = (chosen.len() as u32).saturating_sub(1);
    Some((chosen, excess))
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
        GameConfig {
            players,
            server: ServerStream {
                tick: Dist::Constant(0.050),
                jitter: Some(Dist::Normal { mean: 0.0, sd: 0.001 }),
                size: UpdateSize::Measured {
                    matches: vec![captured(2, -0.5), captured(3, 0.2)],
                    fixed: 15.0,
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
    fn players_that_were_not_captured_are_a_sum_of_independent_matches() {
        let of = |players| moments(&packets(&mut sides(game(players, 1)).1, 200_000).1);
        let (two, three, five) = (of(2), of(3), of(5));
        assert!((two.0 - 72.0).abs() < 1.0, "{two:?}");
        // Bytes that are independent of the players are in both matches but count once. Variances add up.
        assert!((five.0 - (two.0 + three.0 - 15.0)).abs() < 2.0, "{two:?} {three:?} {five:?}");
        assert_eq!(game(5, 1).server.size.mean_payload(5), Some(72.0 + 72.0 - 15.0));
        assert_eq!(game(5, 1).server.size.mean_payload(1), None);
        assert!((five.1 / (two.1 + three.1) - 1.0).abs() < 0.05, "{two:?} {three:?} {five:?}");
        let expected = (two.2 * two.1 + three.2 * three.1) / (two.1 + three.1);
        assert!((five.2 - expected).abs() < 0.02, "{} for {expected}", five.2);
    }

    #[test]
    fn the_summed_matches_are_independent_and_bounds_hold() {
        // Two copies of the same series would double the deviation, not the variance.
        let of = |players| moments(&packets(&mut sides(game(players, 1)).1, 200_000).1);
        assert!((of(4).1 / of(2).1 - 2.0).abs() < 0.15);
        let sizes = packets(&mut sides(game(4, 90)).1, 10_000).1;
        assert!(sizes.contains(&90.0) && sizes.iter().all(|size| *size >= 90.0));
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

    #[test]
    fn a_match_is_itself_or_the_fewest_that_add_up() {
        assert_eq!(parts(&[2, 3], 4), Some(vec![2, 2]));
        assert_eq!(parts(&[2, 3], 7), Some(vec![3, 2, 2]));
        assert_eq!(parts(&[2, 3, 4], 4), Some(vec![4]));
        assert_eq!(parts(&[2, 3, 4], 10), Some(vec![4, 4, 2]));
        assert_eq!(parts(&[4], 6), None);
        assert_eq!(parts(&[2, 3], 1), None);
        assert_eq!(parts(&[], 3), None);
    }

    proptest::proptest! {
        #[test]
        fn parts_add_up_and_are_captured(captured in proptest::collection::vec(0..12u32, 0..5), players in 1..40u32) {
            if let Some(parts) = parts(&captured, players) {
                proptest::prop_assert_eq!(parts.iter().sum::<u32>(), players);
                proptest::prop_assert!(parts.iter().all(|part| captured.contains(part)));
            } else {
                proptest::prop_assert!(!captured.contains(&players));
            }
        }
    }
}
