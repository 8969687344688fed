"""What a sweep found, read from its folder alone: cells, their runs, and estimates over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from gamelane import quantity
from gamelane.analysis.stats import Estimate, estimate
from gamelane.analysis.tables import INTERACTIVE
from gamelane.sweep import folder as store
from gamelane.sweep.budget import Limit
from gamelane.sweep.file import Budget
from gamelane.sweep.metrics import Metric, find, metrics


@dataclass(frozen=True)
class Dimension:
    """An axis as a reader sees it: linked keys are one."""

    keys: tuple[str, ...]
    short: str
    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its keys as the file has them."""
        return " / ".join(self.keys)

    @property
    def ordered(self) -> bool:
        """Whether its values are numbers of one kind, so that a line between them means something."""
        return all(quantity.magnitude(label.split(" / ")[0]) is not None for label in self.labels)


@dataclass(frozen=True)
class Cell:
    """A combination and its finished runs."""

    index: int
    values: Mapping[str, str]
    position: tuple[int, ...]
    rows: tuple[Mapping[str, Any], ...]

    def of(self, metric: Metric) -> dict[int, float | None]:
        """One value a seed."""
        return {row["seed"]: metric.of(row) for row in self.rows}

    def estimate(self, metric: Metric) -> Estimate:
        """Mean over seeds with its interval."""
        return estimate(list(self.of(metric).values()))


@dataclass(frozen=True)
class SweepRecords:
    """The folder of a sweep."""

    folder: Path
    document: Mapping[str, Any]
    frame: pl.DataFrame

    @property
    def name(self) -> str:
        """The sweep's name."""
        return str(self.document["name"])

    @property
    def planned(self) -> int:
        """Runs there are to be."""
        return len(self.document["runs"])

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Axes, in the order of the file."""
        axes = self.document["axes"]
        last = [key.rpartition(".")[2] for axis in axes for key in axis["keys"]]
        found = []
        for axis in axes:
            words = [key.rpartition(".")[2] if last.count(key.rpartition(".")[2]) == 1 else key for key in axis["keys"]]
            labels = tuple(" / ".join(row) for row in axis["values"])
            found.append(Dimension(tuple(axis["keys"]), " / ".join(words), labels))
        return tuple(found)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every planned cell, with the runs it has."""
        keys = self.document["keys"]
        rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in self.frame.iter_rows(named=True):
            rows.setdefault(tuple(row[key] for key in keys), []).append(row)
        cells = []
        for index, values in enumerate(self.document["cells"]):
            cell = dict(zip(keys, values, strict=True))
            position = tuple(
                dimension.labels.index(" / ".join(cell[key] for key in dimension.keys)) for dimension in self.dimensions
            )
            cells.append(Cell(index, cell, position, tuple(rows.get(tuple(values), []))))
        return tuple(cells)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """What can be read off the runs, by name."""
        return metrics(column for column, kind in self.frame.schema.items() if kind.is_numeric() or kind == pl.Null)

    @property
    def flows(self) -> Sequence[Mapping[str, str]]:
        """Name, application and label of each flow."""
        flows: Sequence[Mapping[str, str]] = self.document["flows"]
        return flows

    @property
    def focus(self) -> list[str]:
        """The flows a reader asks about: games and voice, else all."""
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
        """Return what the run of a cell and seed is called."""
        found: str = next(run[0] for run in self._runs[cell.index] if run[2] == seed)
        return found

    @cached_property
    def _runs(self) -> dict[int, list[list[Any]]]:
        runs: dict[int, list[list[Any]]] = {}
        for run in self.document["runs"]:
            runs.setdefault(run[1], []).append(run)
        return runs


def is_sweep(folder: str | PathLike[str]) -> bool:
    """Whether a folder holds a sweep."""
    return (Path(folder) / store.MANIFEST).is_file()


def read(folder: str | PathLike[str]) -> SweepRecords:
    """Read the folder of a sweep, finished or not."""
    path = Path(folder)
    document = store.read_manifest(path)
    return SweepRecords(path, document, _runs(path, document))


def _runs(path: Path, document: Mapping[str, Any]) -> pl.DataFrame:
    """Return `runs.parquet` if it is whole, else the same from the journal."""
    try:
        frame = pl.read_parquet(path / store.RUNS)
    except (OSError, pl.exceptions.PolarsError):
        return store.table(path, document)
    return frame if len(frame) == len(document["runs"]) else store.table(path, document)
