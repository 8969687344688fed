"""Tests which connections share a path, from their RTTs alone (griwodz2006, Fig. 1(c)).

A Wilcoxon rank-sum test for each pair of connections asks whether their RTTs come from the same distribution. Pairs
that the test does not reject may share a path. Method, corrections and limits: docs/models/shared-paths.md. Left out:
correlation of delays over time, which is stronger evidence if the clocks allow it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import ndtr
from scipy.stats import false_discovery_control

K = TypeVar("K", bound=Hashable)
Floats = npt.NDArray[np.float64]
Variant = Literal["plain", "normalised"]
Correction = Literal["benjamini-hochberg", "bonferroni", "none"]

VARIANTS: tuple[Variant, ...] = ("plain", "normalised")

FEWEST = 20
"""Samples that a connection needs for the normal approximation."""

MOST = 500
"""Maximum number of samples used per connection, evenly spaced. Consecutive RTTs depend on each other; spacing them
brings the false alarms of the test closer to its level.
"""


@dataclass(frozen=True)
class SharedPaths(Generic[K]):
    """Verdicts on every pair.

    Matrices are symmetric, in the order of `connections`, with 1 on the diagonal.
    """

    connections: tuple[K, ...]
    skipped: tuple[K, ...]
    variant: Variant
    correction: Correction
    level: float
    p: Floats
    adjusted: Floats
    groups: tuple[tuple[K, ...], ...]

    @property
    def shared(self) -> npt.NDArray[np.bool_]:
        """Pairs that the test does not distinguish."""
        return self.adjusted > self.level

    @property
    def pairs(self) -> int:
        """Tests made."""
        return len(self.connections) * (len(self.connections) - 1) // 2


def shared_paths(
    rtts: Mapping[K, npt.ArrayLike],
    *,
    variant: Variant = "plain",
    correction: Correction = "benjamini-hochberg",
    level: float = 0.05,
) -> SharedPaths[K]:
    """Test every pair of connections, and group those that the test does not distinguish.

    `plain` compares RTTs as measured, as the paper does: connections on one path have the same base RTT. `normalised`
    subtracts each connection's minimum first, so that connections with different base RTTs behind one bottleneck can
    match. Connections with fewer than `FEWEST` samples are skipped and listed as such. All samples need the same unit.
    """
    usable: dict[K, Floats] = {}
    skipped: list[K] = []
    for name, samples in rtts.items():
        values = np.asarray(samples, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"connection {name}: an RTT is not a finite number")
        if len(values) < FEWEST:
            skipped.append(name)
        else:
            usable[name] = spaced(values - values.min() if variant == "normalised" else values)
    names = tuple(usable)
    p = _p_values([np.sort(values) for values in usable.values()])
    adjusted = adjust(p, correction)
    groups = tuple(tuple(names[index] for index in group) for group in _groups(adjusted > level))
    return SharedPaths(names, tuple(skipped), variant, correction, level, p, adjusted, groups)


def both_variants(
    rtts: Mapping[K, npt.ArrayLike], *, correction: Correction = "benjamini-hochberg", level: float = 0.05
) -> dict[Variant, SharedPaths[K]]:
    """Return the paper's variant and the normalised one, to be shown side by side."""
    return {variant: shared_paths(rtts, variant=variant, correction=correction, level=level) for variant in VARIANTS}


def rank_sum(x: Floats, y: Floats) -> float:
    """Return the two-sided p-value of the Wilcoxon rank-sum test of two sorted samples.

    Normal approximation, corrected for ties and for continuity.
    """
    n, m = len(x), len(y)
    below, upto = np.searchsorted(y, x, side="left"), np.searchsorted(y, x, side="right")
    u = 0.5 * float(below.sum() + upto.sum())
    pooled = np.concatenate([x, y])
    pooled.sort()
    starts = np.flatnonzero(np.concatenate([[True], pooled[1:] != pooled[:-1]]))
    ties = np.diff(np.append(starts, n + m)).astype(np.float64)
    total = n + m
    variance = n * m / 12 * (total + 1 - float((ties**3 - ties).sum()) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / np.sqrt(variance)
    return float(2 * ndtr(-z))


def spaced(values: Floats, most: int = MOST) -> Floats:
    """Return at most that many samples, evenly spaced and in order."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(np.intp)]


def adjust(p: Floats, correction: Correction) -> Floats:
    """Correct a symmetric matrix of p-values for the number of pairs.

    Bonferroni bounds the chance that any pair on one path is separated. Benjamini-Hochberg bounds the share of such
    pairs among all separated ones, and so separates more.
    """
    n = len(p)
    rows = np.triu_indices(n, 1)
    each = p[rows]
    if correction == "bonferroni":
        each = np.minimum(1.0, each * len(each))
    elif correction == "benjamini-hochberg" and len(each):
        each = false_discovery_control(each, method="bh")
    adjusted = np.ones((n, n))
    adjusted[rows] = each
    return np.minimum(adjusted, adjusted.T)


def _p_values(ordered: list[Floats]) -> Floats:
    p = np.ones((len(ordered), len(ordered)))
    for i, x in enumerate(ordered):
        for j in range(i):
            p[i, j] = p[j, i] = rank_sum(x, ordered[j])
    return p


def _groups(shared: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Group connections by average-linkage clustering of the verdicts.

    Two groups merge if the test does not distinguish at least half of the pairs between them. One pair separated by
    chance therefore does not split a group. A chain of neighbours whose ends differ does not merge, as it would in
    connected components.
    """
    n = len(shared)
    if n < 2:
        return [[index] for index in range(n)]
    apart = (~shared).astype(np.float64)
    np.fill_diagonal(apart, 0.0)
    labels = fcluster(linkage(squareform(apart, checks=False), method="average"), t=0.5, criterion="distance")
    groups: dict[int, list[int]] = {}
    for index, label in enumerate(labels.tolist()):
        groups.setdefault(label, []).append(index)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0]))
