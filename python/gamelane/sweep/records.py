"""Reads the results of a sweep from its folder: cells, their runs, and estimates over seeds.

A run has about 200 numbers, and a report needs a few of them. Columns are read from `runs.parquet` on demand, so that
memory use hardly grows with the number of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from gamelane import quantity
from gamelane.analysis.metrics import Metric, find, metrics
from gamelane.analysis.stats import Estimate, estimate
from gamelane.catalogue import INTERACTIVE
from gamelane.sweep import folder as store
from gamelane.sweep.budget import Budget, Limit
from gamelane.sweep.labels import labels


@dataclass(frozen=True)
class Dimension:
    """An axis as the reader sees it; linked keys are one axis, and `short` names the first of them."""

    keys: tuple[str, ...]
    short: str
    labels: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    """For each label the values of the keys."""

    @property
    def name(self) -> str:
        """Return its keys as the file has them."""
        return " / ".join(self.keys)

    @property
    def ordered(self) -> bool:
        """Return whether its values are numbers of one kind, so that a line between them has a meaning."""
        return all(quantity.magnitude(row[0]) is not None for row in self.values)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: `row` of the table."""

    records: SweepRecords
    row: int
    seed: int

    def get(self, column: str) -> Any:
        """Return the value of a column; None if the run or the table has none."""
        return self.records.column(column)[self.row] if column in self.records.schema else None


@dataclass(frozen=True)
class Cell:
    """A combination and its finished runs."""

    index: int
    values: Mapping[str, str]
    position: tuple[int, ...]
    runs: tuple[Run, ...]

    def of(self, metric: Metric) -> dict[int, float | None]:
        """Return one value per seed."""
        return {run.seed: metric.of(run) for run in self.runs}

    def estimate(self, metric: Metric) -> Estimate:
        """Return the mean over seeds with its interval."""
        return estimate(list(self.of(metric).values()))


@dataclass(frozen=True)
class SweepRecords:
    """The folder of a sweep."""

    folder: Path
    document: Mapping[str, Any]
    source: pl.LazyFrame
    _columns: dict[str, pl.Series] = field(default_factory=dict, repr=False)

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Return the columns of the table with their types."""
        return self.source.collect_schema()

    @cached_property
    def finished(self) -> int:
        """Return the number of finished runs."""
        return int(self.source.select(pl.len()).collect().item())

    def column(self, name: str) -> pl.Series:
        """Read a column. It is cached."""
        if name not in self._columns:
            self._columns[name] = self.source.select(name).collect()[name]
        return self._columns[name]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Return the whole table, one row per run: for a notebook, not for a report."""
        return self.source.collect()

    @property
    def name(self) -> str:
        """Return the sweep's name."""
        return str(self.document["name"])

    @property
    def planned(self) -> int:
        """Return the number of planned runs."""
        return len(self.document["runs"])

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return the axes, in the order of the file."""
        axes = self.document["axes"]
        last = [key.rpartition(".")[2] for axis in axes for key in axis["keys"]]
        found = []
        for axis in axes:
            words = [key.rpartition(".")[2] if last.count(key.rpartition(".")[2]) == 1 else key for key in axis["keys"]]
            rows = tuple(map(tuple, axis["values"]))
            found.append(Dimension(tuple(axis["keys"]), words[0], labels(words, rows), rows))
        return tuple(found)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Return every planned cell with its finished runs."""
        keys = self.document["keys"]
        runs: dict[tuple[str, ...], list[Run]] = {}
        for row, (*values, seed) in enumerate(self.source.select(*keys, "seed").collect().iter_rows()):
            runs.setdefault(tuple(values), []).append(Run(self, row, seed))
        cells = []
        for index, values in enumerate(self.document["cells"]):
            cell = dict(zip(keys, values, strict=True))
            position = tuple(
                dimension.values.index(tuple(cell[key] for key in dimension.keys)) for dimension in self.dimensions
            )
            cells.append(Cell(index, cell, position, tuple(runs.get(tuple(values), []))))
        return tuple(cells)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Return the metrics of the runs, by name."""
        return metrics(column for column, kind in self.schema.items() if kind.is_numeric() or kind == pl.Null)

    @property
    def flows(self) -> Sequence[Mapping[str, str]]:
        """Return name, application and label of each flow."""
        flows: Sequence[Mapping[str, str]] = self.document["flows"]
        return flows

    @property
    def focus(self) -> list[str]:
        """Return the main flows: games and calls, or every flow if there are none."""
        chosen = [flow["name"] for flow in self.flows if flow["app"] in INTERACTIVE]
        return chosen or [flow["name"] for flow in self.flows]

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """Budgets."""
        found = []
        for each in self.document["budgets"]:
            budget = Budget(**each)
            metric = find(budget.metric, self.metrics)
            found.append(Limit(budget.text, metric, budget.operator, quantity.parse(budget.bound, metric.unit) or 0.0))
        return tuple(found)

    def run_id(self, cell: Cell, seed: int) -> str:
        """Return the id of the run of a cell and seed."""
        found: str = next(run[0] for run in self._runs[cell.index] if run[2] == seed)
        return found

    @cached_property
    def _runs(self) -> dict[int, list[list[Any]]]:
        runs: dict[int, list[list[Any]]] = {}
        for run in self.document["runs"]:
            runs.setdefault(run[1], []).append(run)
        return runs


def is_sweep(folder: str | PathLike[str]) -> bool:
    """Return whether a folder holds a sweep."""
    return (Path(folder) / store.MANIFEST).is_file()


def read(folder: str | PathLike[str]) -> SweepRecords:
    """Read the folder of a sweep, finished or not."""
    path = Path(folder)
    document = store.read_manifest(path)
    return SweepRecords(path, document, _runs(path, document))


def _runs(path: Path, document: Mapping[str, Any]) -> pl.LazyFrame:
    """Return `runs.parquet` if it is complete, else the same from the journal."""
    try:
        table = pl.scan_parquet(path / store.RUNS)
        whole = table.select(pl.len()).collect().item() == len(document["runs"])
    except (OSError, pl.exceptions.PolarsError):
        whole = False
    return table if whole else store.table(path, document).lazy()
