"""What a figure is made of: panels with a legend and a caption, and the axes they share.

Colours beginning with `$` are the theme's and filled in by whoever shows the figure (`style.THEMES`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True)
class Panel:
    """One plot. `title` and `colour` name what it shows; a figure of one panel has neither."""

    chart: Chart
    title: str = ""
    colour: str = ""


@dataclass(frozen=True)
class Key:
    """A line of the legend."""

    label: str
    colour: str


@dataclass(frozen=True)
class Figure:
    """Panels with a caption: what it shows, in which unit, which direction is better."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    legend: tuple[Key, ...] = ()


def x_axis(field: str, unit: str, *, top: float | None = None) -> alt.X:
    """A linear axis from zero, with the unit at its first number."""
    axis = alt.Axis(labelExpr=f"datum.index == 1 ? datum.label + ' {unit}' : datum.label", labelFlush=True)
    return alt.X(f"{field}:Q", title=None, axis=axis, scale=_from_zero(top))


def y_axis(field: str, unit: str, *, top: float) -> alt.Y:
    """A linear axis from zero to `top`."""
    return alt.Y(f"{field}:Q", title=unit, scale=_from_zero(top))


def _from_zero(top: float | None) -> alt.Scale:
    return alt.Scale(domainMin=0, zero=True) if top is None else alt.Scale(domain=[0, top], nice=True)


def colour_by(field: str, colours: Mapping[str, str]) -> alt.Color:
    """A colour for each value."""
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)
