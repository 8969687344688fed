"""Draws the trials of a search over its first two goals."""

from __future__ import annotations

import altair as alt
import polars as pl

from gamelane.analysis.metrics import Metric
from gamelane.report.figures import Figure, Key, Panel
from gamelane.report.series import inline
from gamelane.report.tune import KNEE, factor, over, unit
from gamelane.tune.choose import Trial
from gamelane.tune.search import Found

COLOURS = {
    "recommended": "$orange",
    "knee": "$green",
    "front": "$blue",
    "beaten": "$muted",
    "breaks a bound": "$ochre",
    "unchanged": "$ink",
}
LARGE = ("recommended", "knee", "unchanged")


def figure(found: Found) -> Figure | None:
    """Return a plot of the trials over the first two goals, with the front; None with a single goal."""
    if len(found.aim.goals) < 2:
        return None
    x, y = found.aim.goals[:2]
    rows = []
    for trial in [*found.trials, found.before]:
        of = trial.goals(found.aim)
        if of[0].mean is None or of[1].mean is None:
            continue
        kind = _kind(found, trial)
        rows.append(
            (of[0].mean * factor(x.metric), of[1].mean * factor(y.metric), kind, kind in LARGE, trial in found.front)
        )
    rows.sort(key=lambda row: list(COLOURS).index(row[2]), reverse=True)  # recommended on top
    frame = pl.DataFrame(rows, schema=["x", "y", "kind", "large", "on_front"], orient="row")
    smallest = frame["x"].min()
    log = isinstance(smallest, float) and smallest > 0
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(
            "x:Q",
            title=_axis(x.metric),
            scale=alt.Scale(type="log" if log else "linear", zero=False, nice=False, padding=12),
        ),
        y=alt.Y("y:Q", title=_axis(y.metric), scale=alt.Scale(zero=False, nice=False, padding=12)),
    )
    kinds = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    points = base.mark_point(filled=True, opacity=1, stroke="$paper", strokeWidth=0.5).encode(
        color=alt.Color("kind:N", scale=kinds, legend=None),
        size=alt.condition("datum.large == 'true'", alt.value(130), alt.value(40)),
    )
    front = base.transform_filter("datum.on_front == 'true'")
    line = front.mark_line(interpolate="step-after", strokeWidth=1, color="$blue")
    drawn = set(frame["kind"])
    caption = (
        f"{x.text} against {y.text}; mean over {over(found)}. "
        "The line joins the settings that no other setting within the bounds beats in both."
    )
    if "knee" in drawn:
        caption += f" At the knee it bends most. {KNEE}"
    legend = tuple(Key(kind, colour) for kind, colour in COLOURS.items() if kind in drawn)
    return Figure(
        "pareto",
        "Settings to choose from",
        caption,
        (Panel(alt.layer(line, points).properties(height=300)),),
        legend,
    )


def _kind(found: Found, trial: Trial) -> str:
    if trial is found.before:
        return "unchanged"
    if trial is found.best:
        return "recommended"
    if trial is found.knee:
        return "knee"
    if trial in found.front:
        return "front"
    return "breaks a bound" if trial.breaks(found.aim) else "beaten"


def _axis(metric: Metric) -> str:
    return f"{metric.name}, {unit(metric)}" if unit(metric) else metric.name
