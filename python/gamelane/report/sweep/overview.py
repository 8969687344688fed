"""Chooses the map of a sweep: which axes are columns, rows and panels, and which are averaged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gamelane.analysis.metrics import Metric
from gamelane.sweep.budget import Limit
from gamelane.sweep.records import Cell, Dimension, SweepRecords

PANELS = 6


@dataclass(frozen=True)
class Layout:
    """Positions of dimensions: one for columns, one for rows, some for panels; the rest is averaged."""

    x: int
    y: int | None
    panels: tuple[int, ...]
    averaged: tuple[int, ...]


@dataclass(frozen=True)
class Square:
    """A field of the map: the mean over its cells, and how many of them meet every budget."""

    panel: str
    x: str
    y: str
    value: float | None
    cells: int
    kept: int


def layout(records: SweepRecords) -> Layout:
    """Choose axes: numbers for columns, words for rows, small axes for panels."""
    dimensions = records.dimensions
    varying = [index for index, dimension in enumerate(dimensions) if len(dimension.labels) > 1] or [0]
    numbers = [index for index in varying if dimensions[index].ordered]
    x = max(numbers or varying, key=lambda index: len(dimensions[index].labels))
    others = [index for index in varying if index != x]
    words = [index for index in others if not dimensions[index].ordered]
    y = next(iter(words or others), None)
    rest = sorted(
        (index for index in others if index != y),
        key=lambda index: (_models(dimensions[index]), len(dimensions[index].labels)),
    )
    panels: list[int] = []
    for index in rest:
        if math.prod(len(dimensions[each].labels) for each in [*panels, index]) <= PANELS:
            panels.append(index)
    return Layout(x, y, tuple(sorted(panels)), tuple(sorted(set(rest) - set(panels))))


def _models(dimension: Dimension) -> bool:
    """Return whether an axis is of traffic models. Network axes take precedence on the map."""
    return dimension.keys[0].endswith(".model")


def squares(records: SweepRecords, metric: Metric, of: Layout) -> list[Square]:
    """Return the map, row by row. Fields without finished runs are empty."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in records.cells:
        groups.setdefault(
            (panel_label(records, cell, of), _label(records, cell, of.x), _label(records, cell, of.y)), []
        ).append(cell)
    limits = records.limits
    found = []
    for (panel, x, y), cells in groups.items():
        means = [mean for cell in cells if (mean := cell.estimate(metric).mean) is not None]
        value = math.fsum(means) / len(means) if means else None
        kept = sum(keeps(cell, limits) is True for cell in cells)
        found.append(Square(panel, x, y, value, len(cells), kept))
    return found


def keeps(cell: Cell, limits: Sequence[Limit]) -> bool | None:
    """Return whether a cell's means are within every budget; None without runs or budgets."""
    if not limits or not cell.runs:
        return None
    means = [cell.estimate(limit.metric).mean for limit in limits]
    return all(mean is not None and limit.within(mean) for limit, mean in zip(limits, means, strict=True))


def default_metric(records: SweepRecords) -> Metric | None:
    """Return the first metric shown: that of the first budget, else the 99th percentile of the game's RTT."""
    if records.limits:
        return records.limits[0].metric
    for flow in records.focus:
        for name in (f"p99({flow}.rtt)", f"{flow}.goodput"):
            if name in records.metrics:
                return records.metrics[name]
    return next(iter(records.metrics.values()), None)


def panel_label(records: SweepRecords, cell: Cell, of: Layout) -> str:
    """Name a panel by its values."""
    return ", ".join(_label(records, cell, index) for index in of.panels)


def averaged(records: SweepRecords, of: Layout) -> str:
    """Say what a field averages over."""
    return " and ".join(
        f"{len(records.dimensions[index].labels)} {records.dimensions[index].name}" for index in of.averaged
    )


def _label(records: SweepRecords, cell: Cell, index: int | None) -> str:
    return "" if index is None else records.dimensions[index].labels[cell.position[index]]


def best_and_worst(records: SweepRecords, metric: Metric) -> tuple[Cell, Cell] | None:
    """Return the cells with the best and the worst mean."""
    known = [(mean, cell) for cell in records.cells if (mean := cell.estimate(metric).mean) is not None]
    if not known:
        return None
    ordered = sorted(known, key=lambda pair: pair[0], reverse=metric.higher_is_better)
    return ordered[0][1], ordered[-1][1]


def described(records: SweepRecords, cell: Cell) -> str:
    """Name a cell by its values."""
    return ", ".join(
        f"{dimension.short} {dimension.labels[position]}"
        for dimension, position in zip(records.dimensions, cell.position, strict=True)
        if len(dimension.labels) > 1
    )


def headline(records: SweepRecords) -> str:
    """Return the headline."""
    metric = default_metric(records)
    ends = None if metric is None else best_and_worst(records, metric)
    if metric is None or ends is None:
        return "No run has finished."
    best, worst = (words(metric, cell.estimate(metric).mean) for cell in ends)
    if len(records.cells) == 1:
        text = f"{metric.name} is {best}."
    else:
        low, high = (described(records, cell) for cell in ends)
        text = f"{metric.name} ranges from {best} ({low}) to {worst} ({high})."
    if records.limits:
        verdicts = [keeps(cell, records.limits) for cell in records.cells]
        known = [verdict for verdict in verdicts if verdict is not None]
        text = f"{sum(known)} of {len(known)} combinations meet every budget. " + text
    return text


def words(metric: Metric, value: float | None) -> str:
    """Return a value with its unit, in a readable size."""
    return "n/a" if value is None else " ".join(filter(None, scaled(metric, value)))


def scaled(metric: Metric, value: float) -> tuple[str, str]:
    """Return a value and its unit as text: shares in percent, rates in Mbit/s."""
    factor, unit = SCALES.get(metric.unit, (1.0, metric.unit))
    return _number(value * factor), unit


def _number(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0"
    return (
        f"{value:,.0f}"
        if size >= 100
        else f"{value:.1f}"
        if size >= 10
        else f"{value:.2f}"
        if size >= 0.01
        else f"{value:.1e}"
    )


SCALES: Mapping[str, tuple[float, str]] = {"share": (100.0, "%"), "bit/s": (1e-6, "Mbit/s")}
