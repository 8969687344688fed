"""Shared paths against groups whose truth is known, and the test itself against scipy's."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import mannwhitneyu

from gamelane.analysis.shared_paths import Correction, both_variants, rank_sum, shared_paths, spaced
from gamelane.report.shared_paths import figure

Connection = tuple[object, float]
Rtts = dict[Connection, npt.NDArray[np.float64]]


CORRECTIONS: tuple[Correction, ...] = ("bonferroni", "benjamini-hochberg", "none")


def groups_of(bases_ms: list[float], members: int, samples: int = 300, seed: int = 1) -> Rtts:
    """Connections `(path, member)` whose round trips are their path's base and an exponential queue."""
    rng = np.random.default_rng(seed)
    return {
        (path, member): base + rng.exponential(5.0, samples)
        for path, base in enumerate(bases_ms)
        for member in range(members)
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_rank_sum_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(50, 5, rng.integers(20, 200)), rng.normal(50 + seed / 4, 6, rng.integers(20, 200))
    if seed % 2:
        x, y = x.round(), y.round()  # ties
    theirs = mannwhitneyu(x, y, alternative="two-sided", method="asymptotic").pvalue
    assert rank_sum(np.sort(x), np.sort(y)) == pytest.approx(theirs, rel=1e-9)


def test_paths_with_bases_of_their_own_are_found() -> None:
    found = shared_paths(groups_of([40.0, 55.0, 80.0, 81.5], members=12))
    assert len(found.groups) == 4
    for group in found.groups:
        assert len(group) == 12
        assert len({path for path, _ in group}) == 1


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_one_path_is_told_apart_no_more_often_than_the_level(correction: Correction) -> None:
    rejected = pairs = families = 0
    for seed in range(40):
        found = shared_paths(groups_of([40.0], members=12, samples=60, seed=seed), correction=correction)
        apart = int((~found.shared).sum()) // 2
        rejected, pairs, families = rejected + apart, pairs + found.pairs, families + (apart > 0)
    # 2,640 pairs that share connections: the rate of false alarms strays by more than independent pairs would let it.
    if correction == "none":
        assert 0.03 < rejected / pairs < 0.07
    else:
        assert families <= 5  # 40 families at 5 % are 2 on average; 6 or more have a chance of 1.4 %


def test_benjamini_hochberg_tells_more_apart_than_bonferroni_and_keeps_its_false_share() -> None:
    rtts = groups_of([40.0, 40.9, 41.8, 60.0], members=15, samples=150)
    true = {frozenset(pair) for pair in combinations(rtts, 2) if pair[0][0] != pair[1][0]}
    found = {}
    for correction in CORRECTIONS[:2]:
        paths = shared_paths(rtts, correction=correction)
        found[correction] = {
            frozenset((paths.connections[i], paths.connections[j]))
            for i, j in zip(*np.nonzero(np.triu(~paths.shared)), strict=True)
        }
    assert found["bonferroni"] < found["benjamini-hochberg"]
    assert len(found["benjamini-hochberg"] - true) <= 0.05 * len(found["benjamini-hochberg"])
    assert len(found["bonferroni"] - true) <= 2


def test_the_normalised_variant_joins_what_only_differs_in_its_base() -> None:
    rng = np.random.default_rng(3)
    # One bottleneck with a deep queue behind five accesses, and five connections past it with a shallow one.
    rtts: Rtts = {("deep", base): base + rng.exponential(20.0, 400) for base in (20.0, 60.0, 90.0, 130.0, 200.0)}
    rtts |= {("shallow", base): base + rng.exponential(2.0, 400) for base in (20.5, 60.5, 90.5, 130.5, 200.5)}
    found = both_variants(rtts)
    assert len(found["plain"].groups) >= 8
    kinds = [{kind for kind, _ in group} for group in found["normalised"].groups]
    assert len(found["normalised"].groups) == 2
    assert all(len(kind) == 1 for kind in kinds)


def test_175_connections_take_seconds() -> None:
    rtts = groups_of([30.0 + 10 * path for path in range(25)], members=7, samples=2000)
    started = time.process_time()
    found = shared_paths(rtts)
    assert time.process_time() - started < 10.0
    assert found.pairs == 15_225
    assert len(found.groups) == 25


def test_few_samples_are_skipped_and_said_so() -> None:
    found = shared_paths({"a": [1.0] * 30, "b": [1.0] * 30, "few": [1.0, 2.0]})
    assert found.skipped == ("few",)
    assert found.groups == (("a", "b"),)
    assert shared_paths({}).groups == ()
    with pytest.raises(ValueError, match="finite"):
        shared_paths({"a": [float("nan")] * 30})


def test_samples_are_thinned_evenly() -> None:
    values = np.arange(10_000, dtype=float)
    kept = spaced(values, 100)
    assert len(kept) == 100
    assert (kept[0], kept[-1]) == (0.0, 9999.0)
    assert np.ptp(np.diff(kept)) <= 1


def test_the_matrix_is_drawn_group_by_group() -> None:
    found = both_variants(groups_of([40.0, 60.0], members=3))
    plain = found["plain"]
    drawn = figure(found)
    assert [panel.title for panel in drawn.panels] == ["plain, 2 groups", "normalised, 1 group"]
    (dots,) = drawn.panels[0].chart.to_dict()["datasets"].values()
    rows = dots.splitlines()
    assert rows[0] == "i,j"
    # Two blocks of three; chance may tell a pair within one apart.
    dots_drawn = {(int(i), int(j)) for i, j in (row.split(",") for row in rows[1:])}
    assert len(dots_drawn) == int(plain.shared.sum())
    assert all((i < 3) == (j < 3) for i, j in dots_drawn)
    assert "5 %" in drawn.caption
