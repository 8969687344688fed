"""Chooses the plots of a sweep and their cells: those its file asks for, or a default set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gamelane import quantity
from gamelane.analysis.metrics import Metric, find
from gamelane.analysis.stats import Estimate, estimate
from gamelane.report.sweep import overview
from gamelane.sweep.records import Cell, SweepRecords


@dataclass(frozen=True)
class Wanted:
    """A plot. `x`, `y`, `colour`, `panel` and `less` are positions of dimensions. Values of `less` are subtracted."""

    name: str
    kind: str
    title: str
    metric: str
    x: int
    y: int | None
    colour: int | None
    panel: int | None
    less: int | None
    cells: tuple[Cell, ...]

    def groups(self, records: SweepRecords, *along: int | None) -> dict[tuple[str, ...], list[Cell]]:
        """Cells, by their labels along some dimensions."""
        found: dict[tuple[str, ...], list[Cell]] = {}
        for cell in self.cells:
            key = tuple(
                "" if index is None else records.dimensions[index].labels[cell.position[index]] for index in along
            )
            found.setdefault(key, []).append(cell)
        return found

    def taken_off(self, records: SweepRecords, cell: Cell) -> float:
        """Return what is subtracted from a cell's values, in ms."""
        if self.less is None:
            return 0.0
        return quantity.parse(records.dimensions[self.less].labels[cell.position[self.less]], "ms") or 0.0


def wanted(records: SweepRecords, metric: Metric) -> list[Wanted]:
    """Return every plot that has a finished run."""
    plots = _named(records, metric) or _usual(records, metric)
    return [plot for plot in plots if any(cell.runs for cell in plot.cells)]


def over_seeds(cells: Iterable[Cell], metric: Metric) -> Estimate:
    """Return the mean over cells for each seed, then over seeds: cells with the same seed are not independent."""
    seeds: dict[int, list[float]] = {}
    for cell in cells:
        for seed, value in cell.of(metric).items():
            if value is not None:
                seeds.setdefault(seed, []).append(value)
    return estimate([math.fsum(values) / len(values) for values in seeds.values()])


def metric_of(records: SweepRecords, plot: Wanted) -> Metric:
    """Return the metric of a plot. `plan` has refused unknown names."""
    return find(plot.metric, records.metrics)


def _named(records: SweepRecords, metric: Metric) -> list[Wanted]:
    return [
        Wanted(
            name=plot["name"],
            kind=plot["kind"],
            title=plot["title"],
            metric=plot["metric"] or metric.name,
            x=_dimension(records, plot["x"]) or 0,
            y=_dimension(records, plot["y"]),
            colour=_dimension(records, plot["colour"]),
            panel=_dimension(records, plot["panel"]),
            less=_dimension(records, plot["less"]),
            cells=tuple(cell for cell in records.cells if _holds(plot["where"]["values"], cell)),
        )
        for plot in records.document["plots"]
    ]


def _usual(records: SweepRecords, metric: Metric) -> list[Wanted]:
    of = overview.layout(records)
    panel = of.panels[0] if of.panels else None
    title = f"{metric.name} over {records.dimensions[of.x].short}"
    plots = [Wanted("lines", "line", title, metric.name, of.x, None, of.y, panel, None, records.cells)]
    for flow in records.focus[:2]:
        if f"flows.{flow}.rtt_box_ms.median" in records.schema:
            title = f"Spread of the RTT of {flow}"
            plots.append(
                Wanted(f"boxes-{flow}", "box", title, f"{flow}.rtt", of.x, None, None, of.y, None, records.cells)
            )
    return plots


def _dimension(records: SweepRecords, key: str | None) -> int | None:
    return next((index for index, dimension in enumerate(records.dimensions) if key in dimension.keys), None)


def _holds(values: Mapping[str, Sequence[str]], cell: Cell) -> bool:
    return all(cell.values[key] in allowed for key, allowed in values.items())
