"""Distribution functions: right-continuous, and drawn steps lie on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from gamelane.analysis.ecdf import curve, ecdf

samples = st.lists(st.floats(0, 1e6), min_size=1, max_size=2000)


def test_ties_make_one_higher_step() -> None:
    x, share = ecdf([3.0, 1.0, 3.0, 2.0])
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert share.tolist() == [0.25, 0.5, 1.0]


@given(samples)
def test_it_is_the_one_of_scipy(values: list[float]) -> None:
    x, share = ecdf(values)
    theirs = reference.ecdf(values).cdf
    assert x == pytest.approx(theirs.quantiles)
    assert share == pytest.approx(theirs.probabilities)


@given(samples, st.integers(8, 300))
def test_drawn_steps_lie_on_the_function_and_reach_its_tail(values: list[float], points: int) -> None:
    x, share = ecdf(values)
    drawn_x, drawn_share = curve(values, points=points)
    where = np.searchsorted(x, drawn_x)
    assert (x[where] == drawn_x).all()
    assert (share[where] == drawn_share).all()
    assert len(drawn_x) <= points + 2
    assert drawn_x[0] == x[0]
    assert drawn_share[-1] >= 0.999
