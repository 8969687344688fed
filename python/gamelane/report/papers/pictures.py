"""How the figures of the papers are drawn: our values, and the numbers of the paper's text and tables as its points.

The papers' curves are not available as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from gamelane.analysis.boxes import box
from gamelane.analysis.ecdf import curve
from gamelane.analysis.stats import estimate
from gamelane.claims.evidence import Numbers
from gamelane.plot.panels import Chart, Figure, Key, Panel, colour_by, x_axis, y_axis
from gamelane.report.series import inline

THEIRS = "$ink"
TEXT: dict[str, Any] = {"color": THEIRS, "fontSize": 10}
OURS = ("$blue", "$orange", "$green", "$pink", "$violet", "$ochre", "$steel", "$rust")
HEIGHT = 220
ROOM = 40
"""Characters that labels below the x axis may have in all, on a phone. With more they are slanted."""


@dataclass(frozen=True)
class Heading:
    """What a figure is: its number in the paper, what it shows, and the unit and direction that is better."""

    number: str
    title: str
    caption: str

    def figure(self, shown: Sequence[Panel], keys: tuple[Key, ...]) -> Figure:
        """Return the figure with these panels."""
        name = self.number.lower().replace(". ", "").replace(" ", "-")
        return Figure(name, f"{self.number}: {self.title}", self.caption, tuple(shown), keys)


@dataclass(frozen=True)
class Value:
    """A bar: its place on the x axis, which series it belongs to, our value per seed, and the paper's number."""

    place: str
    of: str
    ours: Numbers
    theirs: float | None = None


def over_time(
    heading: Heading, lines: Mapping[str, tuple[Numbers, Numbers]], unit: str, theirs: Mapping[str, float]
) -> Figure:
    """Return lines over time, each of seconds and values, with the paper's numbers as level lines."""
    colours = dict(zip(lines, OURS, strict=False))
    frame = pl.concat(
        pl.DataFrame({"t": t, "v": v}).with_columns(pl.lit(of).alias("of")) for of, (t, v) in lines.items()
    )
    top = max([float(np.nanmax(v)) for _, v in lines.values() if len(v)] + list(theirs.values())) or 1.0
    drawn = (
        alt.Chart(inline(frame))
        .mark_line(strokeWidth=1.2, clip=True)
        .encode(x=x_axis("t", "s"), y=y_axis("v", unit, top=top), color=colour_by("of", colours))
    )
    return heading.figure([_panel(alt.layer(drawn, *_levels(theirs)))], _keys(colours, bool(theirs)))


def by_rank(heading: Heading, points: Mapping[str, tuple[Numbers, Numbers]], unit: str) -> Figure:
    """Return points by rank on a logarithmic scale, each series of ranks and values. Missing values are left out."""
    colours = dict(zip(points, OURS, strict=False))
    frame = pl.concat(
        pl.DataFrame({"x": x, "v": v}).drop_nans("v").with_columns(pl.lit(of).alias("of"))
        for of, (x, v) in points.items()
    )
    drawn = (
        alt.Chart(inline(frame))
        .mark_point(filled=True, size=14, opacity=0.8)
        .encode(
            x=alt.X("x:Q", title=None),
            y=alt.Y("v:Q", title=unit, scale=alt.Scale(type="log")),
            color=colour_by("of", colours),
        )
    )
    return heading.figure([_panel(drawn)], _keys(colours, False))


def _levels(theirs: Mapping[str, float]) -> list[alt.Chart]:
    if not theirs:
        return []
    marks = pl.DataFrame({"label": [f"paper: {label}" for label in theirs], "level": list(map(float, theirs.values()))})
    base = alt.Chart(inline(marks)).encode(y="level:Q")
    return [
        base.mark_rule(strokeDash=[4, 3], color=THEIRS),
        base.mark_text(align="left", dx=4, dy=-5, **TEXT).encode(text="label:N", x=alt.value(0)),
    ]


def bars(heading: Heading, groups: Mapping[str, tuple[Sequence[Value], str]]) -> Figure:
    """Return a panel for each group of values, which has its own unit: bars of means with 95 % intervals over seeds.

    The paper's numbers are points.
    """
    series = list(dict.fromkeys(value.of for values, _ in groups.values() for value in values))
    colours = dict(zip(series, OURS, strict=False))
    has_theirs = any(value.theirs is not None for values, _ in groups.values() for value in values)
    shown = [Panel(_bars(values, unit, colours), label) for label, (values, unit) in groups.items()]
    return heading.figure(shown, _keys(colours, has_theirs))


def _bars(values: Sequence[Value], unit: str, colours: Mapping[str, str]) -> Chart:
    rows = []
    for value in values:
        of = estimate(value.ours.tolist())
        mean, half = of.mean or 0.0, of.ci95 or 0.0
        rows.append((value.place, value.of, mean, max(mean - half, 0.0), mean + half, value.theirs))
    frame = pl.DataFrame(rows, schema=["place", "of", "mean", "low", "high", "theirs"], orient="row")
    places = list(dict.fromkeys(frame["place"]))
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(
            "place:N",
            sort=places,
            title=None,
            axis=alt.Axis(labelAngle=0 if sum(map(len, places)) <= ROOM else -35, labelLimit=110),
        ),
        xOffset=alt.XOffset("of:N", sort=list(colours)),
        tooltip=[
            "place:N",
            "of:N",
            *(alt.Tooltip(f"{key}:Q", format=".4~g") for key in ("mean", "low", "high", "theirs")),
        ],
    )
    fill = colour_by("of", colours)
    theirs = alt.Chart(inline(frame.drop_nulls("theirs"))).encode(
        x=alt.X("place:N", sort=places),
        xOffset=alt.XOffset("of:N", sort=list(colours)),
        y=alt.Y("theirs:Q"),
    )
    layers: list[Any] = [
        base.mark_bar(opacity=0.75).encode(y=alt.Y("mean:Q", title=unit), color=fill),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q", color=fill),
        theirs.mark_point(
            shape="diamond", filled=True, size=70, opacity=1, color=THEIRS, stroke="$paper", strokeWidth=1
        ),
    ]
    return alt.layer(*layers).properties(height=HEIGHT)


def distribution(
    heading: Heading, samples: Mapping[str, Numbers], unit: str, theirs: Sequence[tuple[str, float, float]]
) -> Figure:
    """Return cumulative distributions. Points of the paper are (label, value, share)."""
    colours = dict(zip(samples, OURS, strict=False))
    parts = []
    for of, values in samples.items():
        x, share = curve(pl.Series(values))
        parts.append(pl.DataFrame({"x": x, "share": share}).with_columns(pl.lit(of).alias("of")))
    lines = (
        alt.Chart(inline(pl.concat(parts)))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(x=x_axis("x", unit), y=y_axis("share", "share", top=1.0), color=colour_by("of", colours))
    )
    marks = pl.DataFrame(theirs, schema=["label", "x", "share"], orient="row")
    base = alt.Chart(inline(marks)).encode(x="x:Q", y="share:Q")
    points = base.mark_point(shape="diamond", filled=True, size=70, opacity=1, color=THEIRS)
    middle = max(float(values.max()) for values in samples.values()) / 2
    beyond = f"datum.x > {middle}"
    words = [
        base.mark_text(align="left", dx=7, dy=10, **TEXT).encode(text="label:N").transform_filter(f"!({beyond})"),
        base.mark_text(align="right", dx=-7, dy=10, **TEXT).encode(text="label:N").transform_filter(beyond),
    ]
    return heading.figure([_panel(alt.layer(lines, points, *words))], _keys(colours, bool(theirs)))


def boxes(heading: Heading, samples: Mapping[str, Numbers], unit: str) -> Figure:
    """Return Tukey's boxes without outliers, one for each place on the x axis."""
    rows = []
    for place, values in samples.items():
        of = box(pl.Series(values))
        rows.append((place, of.low, of.lower_hinge, of.median, of.upper_hinge, of.high))
    frame = pl.DataFrame(rows, schema=["place", "low", "lower", "median", "upper", "high"], orient="row")
    base = alt.Chart(inline(frame)).encode(
        x=alt.X("place:N", sort=list(samples), title=None, axis=alt.Axis(labelAngle=0))
    )
    drawn = alt.layer(
        base.mark_rule(color=OURS[0]).encode(y=alt.Y("low:Q", title=unit), y2="high"),
        base.mark_bar(size=18, color=OURS[0]).encode(y="lower:Q", y2="upper"),
        base.mark_tick(size=18, thickness=2.5, color="$paper").encode(y="median:Q"),
    )
    return heading.figure([_panel(drawn)], ())


def _panel(chart: Chart) -> Panel:
    return Panel(chart.properties(height=HEIGHT))


def _keys(colours: Mapping[str, str], theirs: bool) -> tuple[Key, ...]:
    return (*(Key(label, colour) for label, colour in colours.items()), *([Key("the paper", THEIRS)] if theirs else []))
