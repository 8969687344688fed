"""Tukey's boxes: hinges as R's `fivenum` has them, whiskers at samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamelane.analysis.boxes import box, fivenum, thin

samples = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("values", "five"),
    [
        # What R prints for fivenum() of the same vectors.
        ([1, 2, 3, 4, 5], (1, 2, 3, 4, 5)),
        ([1, 2, 3, 4], (1, 1.5, 2.5, 3.5, 4)),
        ([1, 2, 3, 4, 5, 6], (1, 2, 3.5, 5, 6)),
        ([1, 2, 3, 4, 5, 6, 7], (1, 2.5, 4, 5.5, 7)),
        ([5], (5, 5, 5, 5, 5)),
        ([9, 1], (1, 1, 5, 9, 9)),
    ],
)
def test_five_numbers(values: list[float], five: tuple[float, ...]) -> None:
    assert fivenum(values) == five


@given(samples)
def test_hinges_are_medians_of_the_halves(values: list[float]) -> None:
    ordered = sorted(values)
    half = (len(ordered) + 1) // 2  # the middle of an odd number is in both
    _, lower, median, upper, _ = fivenum(values)
    assert lower == pytest.approx(float(np.median(ordered[:half])))
    assert median == pytest.approx(float(np.median(ordered)))
    assert upper == pytest.approx(float(np.median(ordered[-half:])))


def test_whiskers_end_at_samples_and_the_rest_are_outliers() -> None:
    found = box([10, 11, 12, 13, 14, 30])  # hinges 11 and 14, reach 4.5: up to 18.5
    assert (found.low, found.lower_hinge, found.upper_hinge, found.high) == (10, 11, 14, 14)
    assert found.outliers.tolist() == [30]
    assert found.n == 6


@given(samples)
def test_every_sample_is_inside_the_whiskers_or_an_outlier(values: list[float]) -> None:
    found = box(values)
    inside = [value for value in values if found.low <= value <= found.high]
    assert len(inside) + len(found.outliers) == len(values) == found.n


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=500), st.integers(2, 50))
def test_thinned_outliers_keep_the_extremes(values: list[float], at_most: int) -> None:
    outliers = np.sort(np.array(values))
    drawn = thin(outliers, at_most)
    assert len(drawn) <= max(at_most, len(outliers) if len(outliers) <= at_most else at_most)
    assert drawn[0] == outliers[0]
    assert drawn[-1] == outliers[-1]
