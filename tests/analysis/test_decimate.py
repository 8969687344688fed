"""Fewer points, same peaks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gamelane.analysis.decimate import keep_extremes

finite = st.floats(-1e9, 1e9)
series = st.integers(1, 3000).flatmap(lambda n: arrays.arrays(np.float64, n, elements=finite))


@given(series, st.integers(4, 500), st.booleans())
def test_extremes_and_ends_stay_in_order_and_few(
    values: npt.NDArray[np.float64], points: int, all_at_once: bool
) -> None:
    t = np.zeros(len(values)) if all_at_once else np.arange(len(values), dtype=np.float64)
    keep = keep_extremes(t, values, points=points)
    assert len(keep) <= points
    assert (np.diff(keep) > 0).all()
    assert values[keep].max() == values.max()
    assert values[keep].min() == values.min()
    assert keep[0] == 0
    assert keep[-1] == len(values) - 1


def test_a_short_series_is_left_alone() -> None:
    assert keep_extremes([0, 1, 2], [5, 6, 7], points=3).tolist() == [0, 1, 2]


def test_each_bin_keeps_its_own_peak() -> None:
    t = np.arange(10_000) / 100
    values = np.zeros(10_000)
    peaks = np.arange(50, 10_000, 100)
    values[peaks] = 1 + np.arange(len(peaks))
    keep = keep_extremes(t, values, points=2000)
    assert np.isin(peaks, keep).all()
