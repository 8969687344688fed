"""The matrix of shared paths as griwodz2006 draws it: a dot for each pair that is not told apart, group by group."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from gamelane.analysis.shared_paths import K, SharedPaths, Variant
from gamelane.report.figures import Chart, Figure, Panel
from gamelane.report.series import inline

SIDE = 320
"""Pixels of the matrix."""


def figure(found: Mapping[Variant, SharedPaths[K]]) -> Figure:
    """Draw the variants beside each other."""
    first = next(iter(found.values()))
    told = "; ".join(f"{name}: {_told(paths)}" for name, paths in found.items())
    skipped = f" {len(first.skipped)} connections with too few samples are left out." if first.skipped else ""
    return Figure(
        "shared-paths",
        "Connections that may share a path",
        "A dot is a pair whose round trips a Wilcoxon rank-sum test does not tell apart at "
        f"{100 * first.level:g} % after the correction of {first.correction.title()}; connections stand group by "
        "group, the largest first. Plain compares round trips as they are (the paper's way), normalised takes each "
        f"connection's minimum away. {told}.{skipped}",
        tuple(Panel(_matrix(paths), f"{name}, {_count(len(paths.groups), 'group')}") for name, paths in found.items()),
    )


def _matrix(paths: SharedPaths[K]) -> Chart:
    position = {name: index for index, name in enumerate(paths.connections)}
    order = [position[name] for group in paths.groups for name in group]
    i, j = np.nonzero(paths.shared[np.ix_(order, order)])
    n = max(len(order), 1)
    scale = alt.Scale(domain=[-0.5, n - 0.5], nice=False)
    chart: Chart = (
        alt.Chart(inline(pl.DataFrame({"i": i, "j": j})))
        .mark_square(size=max(2.0, (SIDE / n) ** 2 * 0.8), opacity=1, color="$ink")
        .encode(
            x=alt.X("i:Q", title=None, scale=scale, axis=alt.Axis(format="d")),
            y=alt.Y("j:Q", title=None, scale=scale, axis=alt.Axis(format="d")),
        )
        .properties(height=SIDE)
    )
    return chart


def _told(paths: SharedPaths[K]) -> str:
    shared = (int(paths.shared.sum()) - len(paths.connections)) // 2
    return f"{shared} of {_count(paths.pairs, 'pair')} not told apart"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
