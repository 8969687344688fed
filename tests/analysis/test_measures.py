"""Jitter, gaps and bursts by hand, and from a table of records."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamelane.analysis import measures


def test_jitter_of_a_constant_transit_is_nothing_and_of_an_alternating_one_its_step() -> None:
    # RFC 3550, section 6.4.1: J is 0 over a constant transit, and tends to x over one that alternates between 0 and x.
    assert measures.rfc3550_jitter_ms([40.0] * 100) == 0
    assert measures.rfc3550_jitter_ms([0.0, 12.0] * 400) == pytest.approx(12.0)


def test_jitter_step_by_step() -> None:
    # |D| = 16, 0, 32: J = 1, 15/16, 15/16 + (32 - 15/16) / 16
    series = measures.rfc3550_jitter_series_ms([0, 16, 16, 48])
    assert series.tolist() == [0, 1, 0.9375, 0.9375 + (32 - 0.9375) / 16]
    assert measures.rfc3550_jitter_ms([7.0]) == 0
    assert math.isnan(measures.rfc3550_jitter_ms([]))


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=50), st.floats(-1e6, 1e6))
def test_a_clock_that_is_off_changes_no_jitter(transit: list[float], off: float) -> None:
    moved = [value + off for value in transit]
    assert measures.rfc3550_jitter_ms(moved) == pytest.approx(measures.rfc3550_jitter_ms(transit), abs=1e-5)


def test_gaps() -> None:
    found = measures.gaps([0, 38, 76, 276])
    assert (found.count, found.mean_ms, found.maximum_ms) == (3, 92, 200)
    assert found.deviation_ms == pytest.approx(np.std([38, 38, 200], ddof=1))
    assert math.isnan(measures.gaps([5]).mean_ms)


def test_bursts() -> None:
    # Two runs of two in ten: mean 2, random 1 / (1 - 0.4), ratio 1.2.
    assert measures.burst_ratio([1, 1, 0, 0, 0, 1, 1, 0, 0, 0]) == pytest.approx(1.2)
    rng = np.random.default_rng(1)
    assert measures.burst_ratio(rng.random(200_000) < 0.05) == pytest.approx(1.0, abs=0.02)
    assert math.isnan(measures.burst_ratio([0, 0]))
    assert math.isnan(measures.burst_ratio([]))


def test_mean_absolute_deviation() -> None:
    assert measures.mean_absolute_deviation([1, 2, 3, 6]) == 1.5
    assert math.isnan(measures.mean_absolute_deviation([]))


def test_a_flow_from_records() -> None:
    delay = pl.DataFrame(
        {
            "flow": ["game"] * 5 + ["bulk"],
            "direction": ["up"] * 4 + ["down", "up"],
            "t_s": [0.5, 1.0, 1.038, 1.238, 1.0, 1.0],
            "queue_delay_ms": [900.0, 1.0, 2.0, 3.0, 77.0, 50.0],
            "one_way_ms": [920.0, 21.0, 22.0, 23.0, 97.0, 70.0],
        }
    )
    windows = pl.DataFrame(
        {"flow": ["game"] * 2, "direction": ["up"] * 2, "t_s": [0.0, 1.0], "sent": [3, 4], "lost": [2, 1]}
    )
    found = measures.of_flow(delay, windows, flow="game", direction="up", since_s=1.0)
    assert (found.packets, found.loss_percent) == (3, 25.0)
    assert (found.queue_delay_mean_ms, found.queue_delay_median_ms, found.queue_delay_p75_ms) == (2.0, 2.0, 2.5)
    assert found.gaps.maximum_ms == pytest.approx(200)
    assert found.jitter_ms == pytest.approx(1 / 16 + (1 - 1 / 16) / 16)
    x, share = measures.queue_delay_ecdf(delay, flow="game", direction="up", since_s=1.0)
    assert x.tolist() == [1, 2, 3]
    assert share.tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    nothing = measures.of_flow(delay, windows, flow="voip", direction="up")
    assert nothing.packets == 0
    assert math.isnan(nothing.loss_percent)
    assert math.isnan(nothing.queue_delay_p99_ms)
