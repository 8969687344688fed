"""Writes figures as PNG and SVG for papers and slides: panels side by side on white, with title and legend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from gamelane import whole
from gamelane.plot.panels import Chart, Figure, Key
from gamelane.plot.style import CONFIG, THEMES

VEGA_LITE = "6.4"
"""The Vega-Lite version that Altair writes."""

COLUMNS = 3
WIDTH = 300
SCALE = 2


def write(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Write each figure as `NAME.png` and `NAME.svg`, all together, and remove those of an earlier report."""
    with whole.Together(folder, stale=("*.png", "*.svg")) as files:
        return [folder / name for name in draw(figures, files)]


def draw(figures: Sequence[Figure], files: whole.Together, under: str = "") -> list[str]:
    """Add each figure to `files` as `NAME.png` and `NAME.svg`, with `under` before the name."""
    names = []
    for figure in figures:
        png, svg = f"{under}{figure.name}.png", f"{under}{figure.name}.svg"
        with files.file(png) as partial:
            partial.write_bytes(vl_convert.svg_to_png(figure.svg, scale=SCALE))
        with files.file(svg) as partial:
            partial.write_text(figure.svg, encoding="utf-8")
        names += [png, svg]
    return names


def svg(figure: Figure) -> str:
    """Draw a figure. Prefer `Figure.svg`, which draws it once."""
    drawn: str = vl_convert.vegalite_to_svg(specification(figure), vl_version=VEGA_LITE)
    return drawn


def specification(figure: Figure) -> dict[str, Any]:
    """Return one Vega-Lite specification with every panel."""
    width = 2 * WIDTH if len(figure.panels) == 1 else WIDTH
    charts = [panel.chart.properties(width=width, title=panel.title) for panel in figure.panels]
    panels: alt.VConcatChart | alt.ConcatChart
    if figure.columns:
        panels = alt.vconcat(*(alt.hconcat(*row, spacing=24) for row in _rows(figure, charts)), spacing=24)
    else:
        panels = alt.concat(*charts, columns=COLUMNS, spacing=24)
    rows = [_legend(figure.legend), panels] if figure.legend else [panels]
    chart = alt.vconcat(*rows, spacing=12).properties(title=alt.Title(figure.title, fontSize=15))
    return themed({**chart.to_dict(), "config": CONFIG}, "light")


def _rows(figure: Figure, charts: list[Chart]) -> list[list[Chart]]:
    """Start a new row at each panel whose column is not right of the one before."""
    rows: list[list[Chart]] = []
    last = 0
    for panel, chart in zip(figure.panels, charts, strict=True):
        if panel.column <= last or not rows:
            rows.append([])
        rows[-1].append(chart)
        last = panel.column
    return rows


def _legend(keys: tuple[Key, ...]) -> Chart:
    """Return the legend as a row of dots and words. Vega-Lite's own would be repeated beside every panel."""
    starts = [sum(GAP + LETTER * len(key.label) for key in keys[:index]) for index in range(len(keys))]
    rows = [{**asdict(key), "x": start} for key, start in zip(keys, starts, strict=True)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("x:Q", scale=None, axis=None), y=alt.value(8), color=alt.Color("colour:N", scale=None)
    )
    dots = (
        base.transform_filter("!datum.dash.length")
        .mark_point(filled=True, size=70, shape="square", xOffset=5)
        .encode(opacity=alt.Opacity("shade:Q", scale=None))
    )
    lines = (
        base.transform_filter("datum.dash.length")
        .mark_rule(strokeWidth=1.5, xOffset=-6, x2Offset=12)
        .encode(x2="x:Q", strokeDash=alt.StrokeDash("dash:N", scale=None))
    )
    words = base.mark_text(align="left", dx=16, fontSize=12).encode(text="label:N", color=alt.value("$ink"))
    return alt.layer(dots, lines, words).properties(width=2 * WIDTH, height=16)


def png(spec: dict[str, Any]) -> bytes:
    """Draw panels that stand one below the other."""
    panels = [{**panel, "width": 2 * WIDTH} for panel in spec["vconcat"]]
    wide = themed({**spec, "vconcat": panels, "config": CONFIG}, "light")
    drawn: bytes = vl_convert.vegalite_to_png(wide, vl_version=VEGA_LITE)
    return drawn


def themed(spec: dict[str, Any], theme: str) -> dict[str, Any]:
    """Replace the names of colours by a theme's colours."""
    text = json.dumps(spec)
    for name, colour in THEMES[theme].items():
        text = text.replace(f'"{name}"', f'"{colour}"')
    coloured: dict[str, Any] = json.loads(text)
    return coloured


GAP = 34
LETTER = 7
"""Pixels of a legend between entries, and per letter."""
