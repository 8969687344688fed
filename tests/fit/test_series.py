"""Distributions with memory: thinned quantiles, and the normals behind sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from gamelane.fit.figures import autocorrelation
from gamelane.fit.series import correlation_behind, fit_series, knots, transfer


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 1400), min_size=2, max_size=400))
def test_knots_are_a_distribution_and_keep_its_ends(sizes: list[int]) -> None:
    sample = np.array(sizes, dtype=float)
    shares, values = knots(sample)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert (values[0], values[-1]) == (sample.min(), sample.max())
    assert (np.diff(shares) > 0).all()
    assert (np.diff(values) >= 0).all()
    assert len(shares) <= 64


@pytest.mark.parametrize("kind", ["lognormal", "two modes", "few sizes"])
def test_knots_keep_mean_deviation_and_shape(kind: str) -> None:
    rng = np.random.default_rng(1)
    sample = {
        "lognormal": rng.lognormal(4, 0.4, 5000),
        "two modes": np.concatenate([rng.normal(40, 2, 3000), rng.normal(90, 4, 2000)]),
        "few sizes": rng.choice([27.0, 31.0, 60.0], 5000, p=[0.7, 0.2, 0.1]),
    }[kind].round()
    shares, values = knots(sample)
    drawn = np.interp((np.arange(100_000) + 0.5) / 100_000, shares, values).round()
    assert drawn.mean() == pytest.approx(sample.mean(), rel=0.005)
    assert drawn.std() == pytest.approx(sample.std(), rel=0.02)
    at = np.arange(sample.min(), sample.max())
    apart = [abs((drawn <= x).mean() - (sample <= x).mean()) for x in at]
    assert max(apart) < 0.02


@pytest.mark.parametrize("behind", [-0.6, 0.0, 0.4, 0.8, 0.97])
def test_the_correlation_of_sizes_is_what_simulated_normals_give(behind: float) -> None:
    shares, values = knots(np.random.default_rng(2).lognormal(4, 0.6, 3000))
    rng = np.random.default_rng(3)
    x, y = rng.multivariate_normal([0, 0], [[1, behind], [behind, 1]], 400_000).T
    sizes = [np.interp(norm.cdf(z), shares, values) for z in (x, y)]
    expected = float(np.corrcoef(sizes)[0, 1])
    assert transfer(shares, values)(behind) == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("correlation", [-0.2, 0.1, 0.5, 0.94])
def test_the_normals_behind_a_correlation_are_found(correlation: float) -> None:
    shares, values = knots(np.random.default_rng(2).lognormal(4, 0.5, 3000))
    behind = correlation_behind(shares, values, correlation)
    assert transfer(shares, values)(behind) == pytest.approx(correlation, abs=1e-6)


def test_a_correlation_out_of_reach_is_as_near_as_can_be() -> None:
    # So skewed a distribution cannot have neighbours at -0.9.
    shares, values = knots(np.random.default_rng(2).lognormal(4, 1.5, 3000))
    assert correlation_behind(shares, values, -0.9) < -0.99


def test_one_size_is_one_size() -> None:
    series = fit_series([np.full(100, 60.0)])
    assert (series.phi, series.theta) == (0.0, 0.0)
    assert set(series.values.tolist()) == {60.0}


def test_a_series_of_its_own_kind_is_recovered() -> None:
    rng = np.random.default_rng(8)
    z = np.zeros(60_000)
    noise = rng.normal(size=len(z))
    for t in range(1, len(z)):
        z[t] = 0.95 * z[t - 1] + noise[t] - 0.6 * noise[t - 1]
    sizes = np.exp(4 + 0.4 * z / z.std()).round()
    series = fit_series([sizes])
    assert series.phi == pytest.approx(0.95, abs=0.015)
    assert series.theta == pytest.approx(-0.6, abs=0.05)
    assert autocorrelation([sizes], 1)[1] == pytest.approx(
        transfer(series.shares, series.values)(
            (series.phi + series.theta)
            * (1 + series.phi * series.theta)
            / (1 + 2 * series.phi * series.theta + series.theta**2)
        ),
        abs=1e-3,
    )
