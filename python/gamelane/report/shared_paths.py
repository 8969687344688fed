"""Draws the matrix of shared paths as griwodz2006 does: a dot for each pair that may share a path, in groups."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import polars as pl

from gamelane.analysis.shared_paths import K, SharedPaths, Variant
from gamelane.report.figures import Chart, Figure, Panel
from gamelane.report.series import inline

SIDE = 320
"""Side of the matrix in pixels."""


def figure(found: Mapping[Variant, SharedPaths[K]]) -> Figure:
    """Draw both variants of the test side by side."""
    first = next(iter(found.values()))
    told = "; ".join(f"{name}: {_told(paths)}" for name, paths in found.items())
    skipped = f" {len(first.skipped)} connections have too few samples and are left out." if first.skipped else ""
    return Figure(
        "shared-paths",
        "Connections that may share a path",
        "A dot is a pair of connections whose RTTs a Wilcoxon rank-sum test does not distinguish at the "
        f"{100 * first.level:g} % level, corrected by {first.correction.title()}. Connections are sorted by group, the "
        "largest first. Plain compares RTTs as measured, as in the paper; normalised subtracts each connection's "
        f"minimum first. {told}.{skipped}",
        tuple(Panel(matrix(paths), f"{name}, {_count(len(paths.groups), 'group')}") for name, paths in found.items()),
    )


def matrix(paths: SharedPaths[K]) -> Chart:
    """Return the matrix of pairs: a dot where two connections may share a path."""
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
    return f"{shared} of {_count(paths.pairs, 'pair')} not distinguished"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
