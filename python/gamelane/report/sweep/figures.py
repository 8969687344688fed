"""Makes the figures of a sweep: the map and its plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from gamelane.analysis.metrics import Metric
from gamelane.quantity import NUMBER_AND_UNIT
from gamelane.report.figures import Chart, Figure, Key, Panel
from gamelane.report.series import inline
from gamelane.report.sweep import colours, overview
from gamelane.report.sweep.plots import Wanted, metric_of, over_seeds, wanted
from gamelane.sweep.records import Cell, Dimension, SweepRecords

BOX = ("min", "low", "lower", "median", "upper", "high")
STEEP = 30.0
ROW, LETTER, PHONE = 30, 7, 300
"""Height of a row of squares, width of a letter in a square, and width of a plot on a telephone, in pixels. A number
that is wider than its square is turned, and the rows are high enough for it."""

Square = tuple[str, str, str, float]


def figures(records: SweepRecords) -> list[Figure]:
    """Return every figure, the map first."""
    metric = overview.default_metric(records)
    if metric is None:
        return []
    return [_overview(records, metric), *(DRAW[plot.kind](records, plot) for plot in wanted(records, metric))]


def _overview(records: SweepRecords, metric: Metric) -> Figure:
    of = overview.layout(records)
    mean_of = overview.averaged(records, of)
    rows = [
        (square.panel, square.x, square.y, square.value)
        for square in overview.squares(records, metric, of)
        if square.value is not None
    ]
    words = f"{_better(metric)}{f' Each number is the mean over {mean_of}.' if mean_of else ''}"
    panels = heat(records, metric, (of.x, of.y), rows)
    return Figure("overview", f"Overview of {metric.name}", f"{_in_unit(metric)}. {words}", panels)


def _heat_plot(records: SweepRecords, plot: Wanted) -> Figure:
    metric = metric_of(records, plot)
    groups = plot.groups(records, plot.panel, plot.x, plot.y)
    means = {key: over_seeds(cells, metric).mean for key, cells in groups.items()}
    rows = [
        (panel, x, y, mean - plot.taken_off(records, groups[panel, x, y][0]))
        for (panel, x, y), mean in means.items()
        if mean is not None
    ]
    caption = f"{_in_unit(metric)}{_less(records, plot)}. {_better(metric)}{_mean_of(groups)}"
    return Figure(plot.name, plot.title, caption, heat(records, metric, (plot.x, plot.y), rows))


def heat(
    records: SweepRecords, metric: Metric, along_down: tuple[int, int | None], rows: Sequence[Square]
) -> tuple[Panel, ...]:
    """Return a map of squares for each panel: shades with numbers."""
    x, y = (None if index is None else records.dimensions[index] for index in along_down)
    factor, _ = overview.SCALES.get(metric.unit, (1.0, metric.unit))
    scale = colours.Scale.of([value * factor for *_, value in rows], higher_is_better=metric.higher_is_better)
    panels = []
    for panel in dict.fromkeys(row[0] for row in rows):
        squares = [
            (x_, y_, scale.share(v * factor), overview.scaled(metric, v)[0], scale.ink(v * factor))
            for name, x_, y_, v in rows
            if name == panel
        ]
        frame = pl.DataFrame(squares, schema=["x", "y", "share", "text", "ink"], orient="row")
        space = LETTER * max(map(len, frame["text"])) + 4
        turned = alt.expr(f"bandwidth('x') < {space} ? -90 : 0")
        is_narrow = frame["x"].n_unique() * space > PHONE
        base = alt.Chart(inline(frame)).encode(
            x=alt.X(
                "x:N", sort=list(x.labels) if x else None, title=x.short if x else None, axis=_quiet(**_upright(x))
            ),
            y=alt.Y("y:N", sort=list(y.labels) if y else None, title=None, axis=_quiet()),
        )
        shades = alt.Scale(domain=[0, 1], range=list(colours.HEAT), interpolate="rgb")
        chart = alt.layer(
            base.mark_rect(stroke="$paper", strokeWidth=2).encode(
                color=alt.Color("share:Q", scale=shades, legend=None)
            ),
            base.mark_text(fontSize=11, angle=turned).encode(text="text:N", color=alt.Color("ink:N", scale=None)),
        ).resolve_scale(color="independent")
        row = max(space, ROW) if is_narrow else ROW
        panels.append(Panel(chart.properties(height=row * frame["y"].n_unique() + 4), panel))
    return tuple(panels)


def _box_plot(records: SweepRecords, plot: Wanted) -> Figure:
    flow = plot.metric.rpartition("(")[2].partition(".")[0]
    dimension = records.dimensions[plot.x]
    rows, most = [], 0
    for (panel, x), cells in plot.groups(records, plot.panel, plot.x).items():
        boxes = [box for cell in cells for box in _boxes_of(cell, flow, plot.taken_off(records, cell))]
        if boxes:
            most = max(most, len(boxes))
            rows.append((panel, x, *(math.fsum(column) / len(boxes) for column in zip(*boxes, strict=True))))
    columns = {"panel": pl.String, "x": pl.String} | dict.fromkeys((*BOX, "max"), pl.Float64)
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    top = _largest(frame, "max")
    by_label = colours.by_label(records, plot.panel)
    panels = []
    for panel in dict.fromkeys(frame["panel"]):
        own, colour = frame.filter(pl.col("panel") == panel), by_label.get(panel, "$blue")
        panels.append(Panel(_boxes(own, dimension, top, colour), colours.title(panel), colour if panel else ""))
    several = f" Each box is the mean of the boxes of {most} runs; samples of different runs are never pooled."
    caption = (
        f"RTT of {flow} in ms{_less(records, plot)} against {dimension.name}; lower is better. Tukey boxes: "
        "hinges, median, whiskers to the last sample within 1.5 box lengths; circles are the smallest and the largest "
        f"sample.{several if most > 1 else ''}"
    )
    return Figure(plot.name, plot.title, caption, tuple(panels))


def _boxes_of(cell: Cell, flow: str, less: float) -> list[list[float]]:
    columns = [*(f"flows.{flow}.rtt_box_ms.{part}" for part in BOX), f"flows.{flow}.rtt_ms.max"]
    rows = ([run.get(column) for column in columns] for run in cell.runs)
    return [[value - less for value in row if value is not None] for row in rows if None not in row]


def _boxes(frame: pl.DataFrame, dimension: Dimension, top: float, colour: str) -> Chart:
    x = alt.X("x:N", sort=list(dimension.labels), title=dimension.short, axis=_quiet(**_upright(dimension)))
    base = alt.Chart(inline(frame)).encode(x=x)
    scale = alt.Scale(domain=[0, top], nice=True)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title="ms", scale=scale)

    ends = [base.mark_point(size=14, color=colour, strokeWidth=1).encode(y=y(field)) for field in ("min", "max")]
    return alt.layer(
        *ends,
        base.mark_rule(color=colour, strokeWidth=1.5).encode(y=y("low"), y2="high"),
        base.mark_bar(color=colour, size=18, stroke="$paper", strokeWidth=1).encode(y=y("lower"), y2="upper"),
        base.mark_tick(color="$ink", size=18, thickness=2).encode(y=y("median")),
    ).properties(height=190)


def _line_plot(records: SweepRecords, plot: Wanted) -> Figure:
    metric = metric_of(records, plot)
    factor, unit = overview.SCALES.get(metric.unit, (1.0, metric.unit))
    dimension = records.dimensions[plot.x]
    numbers = _on_a_scale(dimension)
    groups = plot.groups(records, plot.panel, plot.x, plot.colour)
    rows = []
    for (panel, label, colour), cells in groups.items():
        of, less = over_seeds(cells, metric), plot.taken_off(records, cells[0])
        if of.mean is not None:
            ends = (of.mean - less, of.mean - (of.ci95 or 0.0) - less, of.mean + (of.ci95 or 0.0) - less)
            rows.append((panel, str(numbers[label] if numbers else label), colour, *(end * factor for end in ends)))
    columns = dict.fromkeys(("panel", "x", "c"), pl.String) | dict.fromkeys(("v", "low", "high"), pl.Float64)
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    x = alt.X(
        f"x:{'Q' if numbers else 'O'}",
        sort=alt.Undefined if numbers else list(dimension.labels),
        title=_axis_title(dimension),
        axis=alt.Axis(**_upright(None if numbers else dimension)),
    )
    panels = tuple(
        Panel(
            _lines(frame.filter(pl.col("panel") == panel), frame, x, unit, colours.by_label(records, plot.colour)),
            panel,
        )
        for panel in dict.fromkeys(frame["panel"])
    )
    caption = f"{_in_unit(metric)}{_less(records, plot)} against {dimension.name}. {_better(metric)} {_bands(records)}"
    shown = colours.by_label(records, plot.colour) if plot.colour is not None else {}
    legend = tuple(Key(colours.title(label), colour) for label, colour in shown.items())
    return Figure(plot.name, plot.title, caption + _mean_of(groups), panels, legend)


def _lines(own: pl.DataFrame, every: pl.DataFrame, x: alt.X, unit: str, by_label: Mapping[str, str]) -> Chart:
    least, top = float(every["low"].min() or 0), _largest(every, "high")  # type: ignore[arg-type]
    steep = least > 0 and top / least > STEEP
    scale = alt.Scale(type="log", domain=[least, top]) if steep else alt.Scale(domain=[0, top], nice=True)
    of_label = alt.Scale(domain=list(by_label), range=list(by_label.values()))
    colour = alt.Color("c:N", scale=of_label, legend=None)
    base = alt.Chart(inline(own)).encode(x=x)
    y = alt.Y("v:Q", title=unit or None, scale=scale)
    marks = [base.mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=22, filled=True)).encode(y=y, color=colour)]
    if (own["high"] > own["low"]).any():
        fill = alt.Fill("c:N", scale=of_label, legend=None)
        band = base.mark_area(opacity=0.15).encode(
            y=alt.Y("low:Q", title=unit or None, scale=scale), y2="high", fill=fill
        )
        marks.insert(0, band)
    return alt.layer(*marks).properties(height=190)


def _upright(dimension: Dimension | None) -> dict[str, Any]:
    """Return the angle of the labels of an x axis: upright, or slanted if they would run into each other."""
    letters = sum(len(label) + 2 for label in dimension.labels) if dimension else 0
    return {"labelAngle": 0} if letters <= LETTERS else {"labelAngle": -45}


LETTERS = 45
"""Letters of labels that fit below a plot of the usual width."""


def _on_a_scale(dimension: Dimension) -> dict[str, float] | None:
    """Return each label as a number, if all are numbers of one unit."""
    found = [NUMBER_AND_UNIT.fullmatch(label) for label in dimension.labels]
    if not all(found) or len({match[2] for match in found if match}) != 1:
        return None
    return {match[0]: float(match[1]) for match in found if match}


def _axis_title(dimension: Dimension) -> str:
    match = NUMBER_AND_UNIT.fullmatch(dimension.labels[0])
    unit = match[2] if match and _on_a_scale(dimension) else ""
    return f"{dimension.short}, {unit}" if unit else dimension.short


def _largest(frame: pl.DataFrame, column: str) -> float:
    return float(frame[column].max() or 1.0)  # type: ignore[arg-type]


def _quiet(**options: Any) -> alt.Axis:
    return alt.Axis(ticks=False, domain=False, grid=False, labelLimit=160, **options)


def _in_unit(metric: Metric) -> str:
    _, unit = overview.SCALES.get(metric.unit, (1.0, metric.unit))
    return f"{metric.name} in {unit}" if unit else metric.name


def _better(metric: Metric) -> str:
    return "Higher is better." if metric.higher_is_better else "Lower is better."


def _less(records: SweepRecords, plot: Wanted) -> str:
    return "" if plot.less is None else f" minus {records.dimensions[plot.less].name}"


def _bands(records: SweepRecords) -> str:
    seeds = len(records.document["seeds"])
    return f"Bands are 95 % intervals over {seeds} seeds." if seeds > 1 else "One seed, so there are no intervals."


def _mean_of(groups: Mapping[Any, Sequence[Cell]]) -> str:
    most = max((len(cells) for cells in groups.values()), default=1)
    return f" Each point is the mean over {most} combinations." if most > 1 else ""


DRAW: Mapping[str, Callable[[SweepRecords, Wanted], Figure]] = {
    "heat": _heat_plot,
    "box": _box_plot,
    "line": _line_plot,
}
