"""Verdicts from values per seed: intervals decide, and chance decides nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gamelane.claims import findings
from gamelane.claims.evidence import Numbers
from gamelane.claims.findings import Outcome


def _runs(mean: float, spread: float = 0.0) -> Numbers:
    """Return five runs. A spread of 1 gives a 95 % interval of about ±0.9."""
    return mean + spread * np.array([-1, -0.5, 0, 0.5, 1])


@pytest.mark.parametrize(
    ("mean", "spread", "outcome"),
    [
        (100, 10, "reproduced"),
        (125, 10, "cannot-tell"),
        (135, 10, "cannot-tell"),
        (150, 10, "differs"),
        (130, 0, "reproduced"),
    ],
)
def test_near_needs_the_whole_interval(mean: float, spread: float, outcome: Outcome) -> None:
    assert findings.near(_runs(mean, spread), 100, 30, "ms").outcome == outcome


def test_a_difference_that_includes_zero_is_never_reproduced() -> None:
    """Regression: five of five seeds with the same sign counted, however small the differences."""
    lower = _runs(0)
    higher = np.array([0.01, 0.01, 0.01, 0.01, 9])
    found = findings.less("a", lower, "b", higher, "ms")
    assert found.outcome == "cannot-tell"
    assert "includes 0 ms" in found.why
    assert findings.less("a", lower, "b", _runs(2, 1), "ms").outcome == "reproduced"
    assert findings.less("a", _runs(2, 1), "b", lower, "ms").outcome == "differs"
    assert findings.less("a", lower, "b", lower, "ms").outcome == "differs"


def test_seeds_are_paired() -> None:
    base = _runs(100, 50)
    assert findings.less("a", base, "b", base + 1, "ms").outcome == "reproduced"


def test_one_run_decides_nothing() -> None:
    """Regression: a single run had an interval of zero width."""
    one = np.array([100.0])
    for found in (
        findings.near(one, 100, 30, "ms"),
        findings.less("a", one - 50, "b", one, "ms"),
        findings.above(one, 0, "ms"),
        findings.below(one, 200, "ms"),
        findings.zero(one - 100, "packets"),
    ):
        assert found.outcome == "cannot-tell"
        assert findings.ONE_RUN in found.why
    assert findings.zero(one, "packets").outcome == "differs"


def test_a_bound_is_kept_or_broken_by_the_interval() -> None:
    assert findings.above(_runs(3, 1), 1, "").outcome == "reproduced"
    assert findings.above(_runs(1, 1), 1, "").outcome == "cannot-tell"
    assert findings.above(_runs(0), 0, "").outcome == "differs"
    assert findings.below(_runs(1), 1, "").outcome == "reproduced"
    assert findings.below(_runs(3, 1), 1, "").outcome == "differs"
    assert findings.below(_runs(1, 1), 1, "ms").why == "the interval of the mean, 1 ± 0.98 ms, includes 1 ms"


def test_runs_without_a_value_do_not_count() -> None:
    assert findings.near(np.array([100.0, np.nan, 101, 99]), 100, 10, "ms").outcome == "reproduced"
    none = findings.near(np.array([np.nan, np.nan]), 100, 10, "ms")
    assert (none.outcome, none.ours) == ("cannot-tell", findings.NO_VALUE)


def test_the_worst_statement_decides() -> None:
    yes, no = findings.given(True, "a"), findings.given(False, "b")
    unknown = findings.cannot_tell("c")
    assert findings.all_of(yes, yes).outcome == "reproduced"
    assert findings.all_of(yes, unknown).outcome == "cannot-tell"
    assert findings.all_of(yes, unknown, no, why="d") == findings.Finding("differs", "a; b", "c; d")


def test_numbers_are_written_without_exponents() -> None:
    """Regression: a half-width of 260 was 2.6e+02."""
    assert findings.number(_runs(1300, 290)) == "1300 ± 280"
    assert findings.number(_runs(0.5, 0.01)) == "0.5 ± 0.0098"
