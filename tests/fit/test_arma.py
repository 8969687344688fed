"""ARMA(1,1) against series whose coefficients are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from gamelane.fit.arma import fit, fit_given_lag_one, lag_one, theta_of
from gamelane.fit.figures import autocorrelation


def simulate(phi: float, theta: float, n: int, seed: int) -> npt.NDArray[np.float64]:
    noise = np.random.default_rng(seed).normal(0, 3, n + 500)
    return np.asarray(lfilter([1, theta], [1, -phi], noise))[500:] + 70


@pytest.mark.parametrize(("phi", "theta"), [(0.97, -0.79), (0.7, -0.3), (0.5, 0.4), (-0.6, 0.2), (0.0, 0.0)])
def test_coefficients_are_recovered(phi: float, theta: float) -> None:
    found = fit([simulate(phi, theta, 20_000, seed) for seed in (1, 2)])
    assert found.lag_one == pytest.approx(lag_one(phi, theta), abs=0.02)
    assert found.innovation_sd == pytest.approx(3.0, rel=0.02)
    if abs(phi + theta) > 0.05:  # otherwise it is white noise, and any phi = -theta will do
        assert found.phi == pytest.approx(phi, abs=0.03)
        assert found.theta == pytest.approx(theta, abs=0.03)


def test_a_long_memory_under_noise_is_recovered_from_a_match_as_short_as_ours() -> None:
    found = [fit([simulate(0.97, -0.79, 2400, seed)]) for seed in range(10)]
    assert np.mean([each.phi for each in found]) == pytest.approx(0.97, abs=0.03)
    assert np.mean([each.theta for each in found]) == pytest.approx(-0.79, abs=0.05)


@given(st.floats(-0.99, 0.99), st.floats(-0.99, 0.99))
def test_theta_is_the_one_that_gives_the_correlation(phi: float, theta: float) -> None:
    found = theta_of(phi, lag_one(phi, theta))
    assert found is not None
    assert abs(found) <= 1 + 1e-6
    assert lag_one(phi, found) == pytest.approx(lag_one(phi, theta), abs=1e-6)


def test_no_theta_gives_more_correlation_than_there_is() -> None:
    assert theta_of(0.0, 0.6) is None  # a moving average reaches one half
    assert theta_of(0.3, 0.3) == 0.0


@pytest.mark.parametrize("correlation", [0.55, 0.4, 0.0, -0.3])
def test_the_constraint_is_kept_whatever_the_series_would_rather_have(correlation: float) -> None:
    found = fit_given_lag_one([simulate(0.9, -0.5, 3000, 4)], correlation)
    assert found.lag_one == pytest.approx(correlation, abs=1e-6)


def test_given_the_true_correlation_the_constrained_fit_is_the_free_one() -> None:
    series = simulate(0.95, -0.6, 50_000, 5)
    found = fit_given_lag_one([series], lag_one(0.95, -0.6))
    assert found.phi == pytest.approx(0.95, abs=0.01)
    assert found.theta == pytest.approx(-0.6, abs=0.03)


def test_no_pair_spans_two_series() -> None:
    up, down = np.array([1.0, 2.0, 3.0]), np.array([30.0, 20.0, 10.0])
    mean = np.concatenate([up, down]).mean()
    power = sum(((x - mean) ** 2).sum() for x in (up, down))
    expected = sum(((x[:-1] - mean) * (x[1:] - mean)).sum() for x in (up, down)) / power
    assert autocorrelation([up, down], 1)[1] == pytest.approx(expected)
    assert autocorrelation([np.ones(5)], 2).tolist() == [0, 0, 0]
