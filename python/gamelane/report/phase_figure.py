"""Draws the round trips of a measurement's phases, side by side with what was simulated or measured later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from gamelane.analysis.line import Phase
from gamelane.report.figures import Figure, Key, Panel
from gamelane.report.series import inline

COLOURS = ("$ink", "$muted", "$blue", "$orange")


@dataclass(frozen=True)
class Series:
    """The phases of one measurement or simulation."""

    name: str
    phases: Sequence[Phase]


def figure(series: Sequence[Series], whose: str = "the game") -> Figure:
    """Return a plot: for each phase a bar to the 95th percentile of the round trip, with a mark at the median."""
    rows = [
        (phase.name, each.name, phase.rtt_ms["p50"], phase.rtt_ms["p95"])
        for each in series
        for phase in each.phases
        if phase.rtt_ms is not None
    ]
    frame = pl.DataFrame(rows, schema=["phase", "of", "p50", "p95"], orient="row")
    names = [each.name for each in series]
    phases = list(dict.fromkeys(row[0] for row in rows))
    base = alt.Chart(inline(frame)).encode(
        x=alt.X("phase:N", sort=phases, title=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("of:N", sort=names),
        color=alt.Color("of:N", scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])), legend=None),
        tooltip=["phase:N", "of:N", alt.Tooltip("p50:Q", format=".1f"), alt.Tooltip("p95:Q", format=".1f")],
    )
    bars = base.mark_bar().encode(y=alt.Y("p95:Q", title="ms"))
    mark = alt.Y("p50:Q", title="ms")
    medians = base.mark_tick(thickness=2, opacity=1).encode(y=mark, color=alt.value("$paper"))
    return Figure(
        "phases",
        f"Round trip of {whose}",
        "For each phase, the 95th percentile, with a mark at the median, in ms. Lower is better.",
        (Panel(alt.layer(bars, medians).properties(height=260)),),
        tuple(Key(name, colour) for name, colour in zip(names, COLOURS, strict=False)),
    )
