"""The two pictures of docs/today.md: how the worst-off game fares, and what the transfers keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from gamelane import whole
from gamelane.analysis.fares import Grade
from gamelane.plot.images import VEGA_LITE, themed
from gamelane.plot.style import CONFIG

GRADES = {Grade.GOOD: "#1a9e77", Grade.PLAYABLE: "#b9cf6a", Grade.DEGRADED: "#e8a33d", Grade.UNPLAYABLE: "#c0432b"}
"""From green to red; each cell also has its number, for readers who see no difference."""
CELL = {"width": 560, "height": 300}


def games(path: Path, rows: Sequence[Mapping[str, Any]], policies: Sequence[str]) -> None:
    """Draw the 99th percentile of the worst-off game. A row has household, policy, text and grade."""
    colour = alt.Color(
        "grade:N",
        title=None,
        scale=alt.Scale(domain=[grade.word for grade in GRADES], range=list(GRADES.values())),
        legend=alt.Legend(orient="top"),
    )
    title = "99 % of the round trips of the worst-off game are below this, ms"
    _draw(path, rows, policies, colour, title)


def transfers(path: Path, rows: Sequence[Mapping[str, Any]], policies: Sequence[str]) -> None:
    """Draw the goodput of all transfers beside that of the first policy. A row has `text` and `share`."""
    colour = alt.Color(
        "share:Q",
        title=None,
        scale=alt.Scale(domain=[0, 1], range=["#f3efe4", "#5b8fb9"], clamp=True),
        legend=None,
    )
    _draw(path, rows, policies, colour, "Goodput of all transfers, % of what they get as delivered")


def _draw(
    path: Path, rows: Sequence[Mapping[str, Any]], policies: Sequence[str], colour: alt.Color, title: str
) -> None:
    households = list(dict.fromkeys(row["household"] for row in rows))
    base = alt.Chart(alt.InlineData(values=list(rows))).encode(
        x=alt.X("policy:N", sort=list(policies), title=None, axis=alt.Axis(orient="top", labelAngle=0, domain=False)),
        y=alt.Y("household:N", sort=households, title=None, axis=alt.Axis(domain=False)),
    )
    chart = (
        base.mark_rect(stroke="$paper", strokeWidth=3).encode(color=colour)
        + base.mark_text(fontSize=12).encode(text="text:N", color=alt.value("#16191d"))
    ).properties(title=title, **CELL)
    spec = themed({**chart.to_dict(), "config": CONFIG}, "light")
    whole.replace(path, vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))
