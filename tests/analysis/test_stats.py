"""Intervals over runs, against a textbook sum and scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from gamelane.analysis.stats import Estimate, estimate, over_runs


def test_three_runs_by_hand() -> None:
    # mean 4, variance (4 + 0 + 4) / 2 = 4, t(0.975, 2) = 4.302652730, half-width 4.302652730 * 2 / sqrt(3)
    found = estimate([2.0, 4.0, 6.0])
    assert found.mean == 4.0
    assert found.ci95 == pytest.approx(4.968275, abs=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_the_interval_is_the_one_of_scipy(values: list[float]) -> None:
    found = estimate(values)
    assert found.mean is not None
    assert found.ci95 is not None
    spread = float(reference.sem(values))
    half = spread * float(reference.t.ppf(0.975, len(values) - 1))
    assert found.ci95 == pytest.approx(half, rel=1e-6, abs=1e-6)


def test_one_run_has_no_interval() -> None:
    assert estimate([3.0]) == Estimate(3.0, None)


def test_runs_without_a_value_do_not_count() -> None:
    assert estimate([None, math.nan, 3.0]) == Estimate(3.0, None)
    assert estimate([None]) == Estimate(None, None)


def test_a_summary_keeps_the_shape_of_its_runs() -> None:
    runs = [
        {"flows": {"q": {"app": "game", "rtt_ms": {"max": 1.0}, "goodput_bps": None}}},
        {"flows": {"q": {"app": "game", "rtt_ms": {"max": 3.0}, "goodput_bps": None}}},
    ]
    found = over_runs(runs)
    assert found["flows"]["q"]["app"] == "game"
    assert found["flows"]["q"]["rtt_ms"]["max"]["mean"] == 2.0
    assert found["flows"]["q"]["goodput_bps"] == {"mean": None, "ci95": None}
