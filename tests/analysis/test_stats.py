"""Intervals over runs, against a textbook sum and scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as reference

from gamelane.analysis.stats import Estimate, Paired, estimate, jain, over_runs, paired


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


def test_pairs_by_hand() -> None:
    # differences 1, 2, 3: mean 2, s = 1, half-width 4.302652730 / sqrt(3), correction 1 - 3 / 7
    found = paired({1: 10.0, 2: 20.0, 3: 30.0, 4: 9.0}, {1: 11.0, 2: 22.0, 3: 33.0, 5: 0.0})
    assert found.pairs == 3
    assert found.difference.mean == 2.0
    assert found.difference.ci95 == pytest.approx(2.484138, abs=1e-6)
    assert found.effect == pytest.approx(2 * 4 / 7)
    assert found.agree == 1.0
    assert not found.clear


@given(st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e3)), min_size=2, max_size=20))
def test_pairs_are_the_paired_t_test_of_scipy(values: list[tuple[float, float]]) -> None:
    before, after = (dict(enumerate(side)) for side in zip(*values, strict=True))
    differences = [b - a for a, b in values]
    spread = max(differences) - min(differences)
    assume(spread > 1e-3)
    p = float(reference.ttest_rel(list(after.values()), list(before.values())).pvalue)
    assume(abs(p - 0.05) > 1e-6)
    assert paired(before, after).clear == (p < 0.05)


def test_pairs_that_are_none() -> None:
    assert paired({1: 1.0}, {2: 1.0}) == Paired(0, Estimate(None, None), None, None)
    assert paired({1: 1.0}, {1: None}).pairs == 0
    assert paired({1: 1.0, 2: 1.0, 3: 2.0}, {1: 1.0, 2: 1.0, 3: 2.0}).effect is None


def test_jains_index() -> None:
    assert jain([2.0, 2.0, 2.0]) == pytest.approx(1.0)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert jain([0.0, 0.0]) is None
