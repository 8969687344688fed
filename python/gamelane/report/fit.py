"""Compares a fitted game model with its captures, as a page that opens offline and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from gamelane.analysis.ecdf import curve
from gamelane.report.figures import Chart, Figure, Key, Panel
from gamelane.report.pages import render, write
from gamelane.report.series import inline

if TYPE_CHECKING:
    from gamelane.fit.goodness import Fit, Prediction

LOOKS = {"captured": "$ink", "model": "$blue"}


def write_fit(
    folder: Path, title: str, fits: Sequence[Fit], predictions: Sequence[Prediction], said: Sequence[str]
) -> Path:
    """Write `fit.html` and `figures/`, and return the page. `said` holds the caveats."""
    drawn = fit_figures(fits, predictions)
    text = render("fit.html", drawn, title=title, fits=fits, predictions=predictions, said=said, percent=percent)
    return write(folder / "fit.html", text, drawn)


def percent(share: float) -> str:
    """Write a relative error."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def fit_figures(fits: Sequence[Fit], predictions: Sequence[Prediction]) -> list[Figure]:
    """Return plots of sizes and memory of every captured and every predicted match."""
    found = [
        Figure("sizes", "Update sizes", f"Share of updates at or below a size in bytes. {SAME}", _sizes(fits), KEYS),
        Figure(
            "memory",
            "Autocorrelation of update sizes",
            f"Correlation of update sizes against their distance in ticks. The model is fitted to distance 1. {SAME}",
            _memory(fits),
            KEYS,
        ),
    ]
    if predictions:
        found.append(
            Figure(
                "prediction",
                "Predicted from smaller matches",
                "Share of updates at or below a size in bytes, of matches the model was not fitted to. "
                "Where the lines part, the construction or its few captures fail.",
                _sizes([each.of for each in predictions]),
                KEYS,
            )
        )
    return found


def _sizes(fits: Sequence[Fit]) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            _lines(
                [("captured", *curve(each.samples.real)), ("model", *curve(each.samples.played))], "B", "step-after"
            ),
            f"{each.players} players",
        )
        for each in fits
    )


def _memory(fits: Sequence[Fit]) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            _lines(
                [
                    (name, np.arange(len(values)), values)
                    for name, values in (("captured", each.samples.real_memory), ("model", each.samples.played_memory))
                ],
                "ticks",
                "linear",
            ),
            f"{each.players} players",
        )
        for each in fits
    )


def _lines(named: Sequence[tuple[str, npt.ArrayLike, npt.ArrayLike]], unit: str, interpolate: str) -> Chart:
    rows = pl.concat(
        pl.DataFrame({"of": name, "x": np.asarray(x, dtype=float), "y": np.asarray(y, dtype=float)})
        for name, x, y in named
    )
    axis = alt.Axis(labelExpr=f"datum.index == 1 ? datum.label + ' {unit}' : datum.label", labelFlush=True)
    chart: Chart = (
        alt.Chart(inline(rows))
        .mark_line(interpolate=interpolate, strokeWidth=1.5, opacity=0.85)  # type: ignore[arg-type]
        .encode(
            x=alt.X("x:Q", title=None, axis=axis),
            y=alt.Y("y:Q", title=None),
            color=alt.Color("of:N", scale=alt.Scale(domain=list(LOOKS), range=list(LOOKS.values())), legend=None),
        )
        .properties(height=220)
    )
    return chart


KEYS = tuple(Key(name, colour) for name, colour in LOOKS.items())
SAME = "Closer lines are better."
