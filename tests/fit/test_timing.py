"""Ticks, jitter and pauses of made-up clocks."""

from __future__ import annotations

import numpy as np
import pytest

from gamelane.fit.timing import pace, tick


def grid(tick_ms: float, jitter_ms: float, n: int = 4000, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.arange(n) * tick_ms + rng.normal(0, jitter_ms, n)


@pytest.mark.parametrize("jitter_ms", [0.05, 1.0, 4.0])
def test_a_grid_with_jitter_is_told_from_its_gaps(jitter_ms: float) -> None:
    found = tick([np.diff(grid(50.0, jitter_ms))])
    assert found.on_a_grid
    assert found.tick_ms == pytest.approx(50.0, rel=0.001)
    assert found.jitter_sd_ms == pytest.approx(jitter_ms, rel=0.1)
    assert found.stalls == 0


def test_lost_updates_and_pauses_do_not_stretch_the_tick() -> None:
    times = grid(50.0, 0.1)
    times[2000:2100] += 20.0  # late for a while, then on time again
    kept = np.delete(times, [100, 500, 501, 3000])
    found = tick([np.diff(kept)])
    assert found.tick_ms == pytest.approx(50.0, rel=0.001)
    assert found.jitter_sd_ms == pytest.approx(0.1, rel=0.1)
    assert found.stalls == 3
    assert found.longest_gap_ms == pytest.approx(150, abs=1)


def test_gaps_drawn_anew_are_no_grid() -> None:
    gaps = np.random.default_rng(2).normal(55, 8, 4000)
    found = tick([gaps])
    assert not found.on_a_grid
    assert found.tick_ms == pytest.approx(55, rel=0.01)
    assert found.jitter_sd_ms == pytest.approx(8, rel=0.1)


def test_a_clients_pace_leaves_pauses_out_and_keeps_modes() -> None:
    rng = np.random.default_rng(3)
    gaps = rng.permutation(np.concatenate([rng.normal(11, 0.05, 3000), rng.normal(14, 0.05, 1000), [90.0, 200.0]]))
    found = pace([gaps])
    assert (found.stalls, found.longest_gap_ms) == (2, 200.0)
    drawn = np.interp((np.arange(10_000) + 0.5) / 10_000, found.shares, found.intervals_ms)
    assert drawn.mean() == pytest.approx(11.75, rel=0.005)
    assert np.mean(drawn < 12.5) == pytest.approx(0.75, abs=0.01)
