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
from gamelane.fit.figures import percent
from gamelane.report.figures import Chart, Figure, Key, Panel
from gamelane.report.pages import render, write
from gamelane.report.series import inline

if TYPE_CHECKING:
    from gamelane.fit.goodness import Fit, Outcome

LOOKS = {"captured": "$ink", "model": "$blue"}


def write_fit(folder: Path, title: str, outcome: Outcome) -> Path:
    """Write `fit.html` and `figures/`, and return the page."""
    drawn = fit_figures(outcome)
    text = render("fit.html", drawn, title=title, outcome=outcome, percent=percent)
    return write(folder / "fit.html", text, drawn)


def fit_figures(outcome: Outcome) -> list[Figure]:
    """Return plots of sizes and memory of every captured match, of the growth, and of every match left out."""
    fits, predictions = outcome.fits, outcome.predictions
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
    if outcome.model.estimated:
        found.append(
            Figure(
                "growth",
                "Growth with the players",
                "Mean and standard deviation of the update sizes in bytes against the number of players. "
                "Bars are 95 % prediction intervals for one more capture.",
                _growth(outcome),
                KEYS,
            )
        )
    if predictions:
        found.append(
            Figure(
                "prediction",
                "Left out, and estimated from the others",
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


def _growth(outcome: Outcome) -> tuple[Panel, ...]:
    def panel(key: str, figure: str, name: str) -> Panel:
        measured = [(fit.players, getattr(fit.measured, key)) for fit in outcome.fits]
        guessed = [(n, getattr(each, figure)) for n, each in sorted(outcome.model.estimated.items())]
        captured = [("captured", players, value, value, value) for players, value in measured]
        estimated = [("model", players, of.value, of.low, of.high) for players, of in guessed]
        rows = pl.DataFrame(captured + estimated, schema=("of", "players", "B", "low", "high"), orient="row")
        colour = alt.Color("of:N", scale=alt.Scale(domain=list(LOOKS), range=list(LOOKS.values())), legend=None)
        base = alt.Chart(inline(rows)).encode(x=alt.X("players:Q", title=None), color=colour)
        bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
        points = base.mark_point(filled=True, size=40, opacity=1).encode(y=alt.Y("B:Q", title=None))
        return Panel((bars + points).properties(height=220), name)

    return panel("mean_bytes", "mean", "mean"), panel("sd_bytes", "sd", "standard deviation")


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
