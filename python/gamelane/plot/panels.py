"""The parts of a figure: panels with a legend and a caption, and the axes they share.

Colours that start with `$` are the theme's. The page or picture that shows the figure fills them in (`style.THEMES`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt

from gamelane.plot.style import Look

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True)
class Panel:
    """One plot. `title` and `colour` say what it shows; a figure of one panel has neither."""

    chart: Chart
    title: str = ""
    colour: str = ""
    shade: float = 1.0
    column: int = 0
    """Column if panels are arranged in pairs, from 1."""


@dataclass(frozen=True)
class Key:
    """An entry of the legend: a square, or a line if it has dashes."""

    label: str
    colour: str
    shade: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Figure:
    """Panels with a caption, which says what they show, the unit, and which direction is better."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    legend: tuple[Key, ...] = ()

    @cached_property
    def svg(self) -> str:
        """The figure as a picture, which takes a while to draw: page and files share it."""
        from gamelane.plot.images import svg  # noqa: PLC0415 - pictures are made of panels

        return svg(self)

    @property
    def columns(self) -> int:
        """Number of columns if panels are arranged in pairs, else 0."""
        return max((panel.column for panel in self.panels), default=0)


def x_axis(field: str, unit: str, *, top: float | None = None) -> alt.X:
    """Return a linear axis from zero, with the unit at its first number."""
    label = f"datum.index == 1 ? datum.label + ' {unit}' : datum.label"
    axis = alt.Axis(labelExpr=label, labelFlush=True, title=None)
    return alt.X(f"{field}:Q", title=unit, axis=axis, scale=_from_zero(top))


def y_axis(field: str, unit: str, *, top: float) -> alt.Y:
    """Return a linear axis from zero to `top`."""
    return alt.Y(f"{field}:Q", title=unit, scale=_from_zero(top))


def _from_zero(top: float | None) -> alt.Scale:
    return alt.Scale(domainMin=0, zero=True) if top is None else alt.Scale(domain=[0, top], nice=True)


def colour_by(field: str, colours: Mapping[str, str]) -> alt.Color:
    """Return a colour for each value."""
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)


def lines_by(field: str, looks: Mapping[str, Look]) -> dict[str, Any]:
    """Return the colour of each variant's line and, for overlaid sources, its dashes."""
    dashes = {
        "strokeDash": alt.StrokeDash(
            f"{field}:N", scale=_scale({name: look.dash for name, look in looks.items()}), legend=None
        )
    }
    return _coloured(field, looks) | (dashes if _overlaid(looks) else {})


def areas_by(field: str, looks: Mapping[str, Look]) -> dict[str, Any]:
    """Return the colour of each variant's area and, for overlaid sources, its opacity."""
    shades = {
        "opacity": alt.Opacity(
            f"{field}:N", scale=_scale({name: look.shade for name, look in looks.items()}), legend=None
        )
    }
    return _coloured(field, looks) | (shades if _overlaid(looks) else {})


def _coloured(field: str, looks: Mapping[str, Look]) -> dict[str, Any]:
    return {"color": colour_by(field, {name: look.colour for name, look in looks.items()})}


def _scale(values: Mapping[str, Any]) -> alt.Scale:
    """Return one value per variant. With no type given, Vega-Lite would interpolate."""
    return alt.Scale(type="ordinal", domain=list(values), range=list(values.values()))


def _overlaid(looks: Mapping[str, Look]) -> bool:
    return any(look.source for look in looks.values())


def keys_of(looks: Mapping[str, Look], *, lines: bool) -> tuple[Key, ...]:
    """Return the legend of variants: their colours, and how each source is drawn."""
    colours = {look.own_label: look.colour for look in looks.values()}
    sources = {look.source: look for look in looks.values() if look.source}
    return (
        *(Key(label, colour) for label, colour in colours.items()),
        *(
            Key(name, "$ink", dash=look.dash) if lines else Key(name, "$ink", shade=look.shade)
            for name, look in sorted(sources.items(), key=lambda item: item[1].place)
        ),
    )
