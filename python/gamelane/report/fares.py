"""The table of all applications: a row for each figure that tells how one fares, a column for each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gamelane.analysis.fares import GOODPUT, Application, Figure, Grade, applications
from gamelane.analysis.flatten import flatten
from gamelane.analysis.metrics import Metric, metrics
from gamelane.analysis.stats import Estimate, estimate
from gamelane.catalogue import BULK, INTERACTIVE
from gamelane.records.results import GATEWAY, Results
from gamelane.report.tables import focus

Columns = Mapping[str, float | int | str | None]
"""The numbers of a run, by column."""


@dataclass(frozen=True)
class Cell:
    """The mean over the runs of a variant, and its grade."""

    value: Estimate
    grade: Grade | None


@dataclass(frozen=True)
class Row:
    """A figure of an application; a cell for each variant."""

    application: Application
    figure: Figure
    cells: tuple[Cell, ...]

    @property
    def says_something(self) -> bool:
        """Return whether a cell reaches what is worth a row."""
        least = self.figure.only_from
        return least is None or any(cell.value.mean is not None and cell.value.mean >= least for cell in self.cells)


def rows(results: Results) -> list[Row]:
    """Return the table; empty if the summary of the main flow says all."""
    if results.engine == GATEWAY or not _needed(results):
        return []
    seconds = results.duration_s - results.warmup_s
    members = applications([(flow.name, flow.app, flow.label) for flow in results.flows], seconds)
    runs = [[flatten(run.summary) for run in variant.runs] for variant in results.variants]
    known: dict[str, Metric] = metrics(dict.fromkeys(column for of in runs for run in of for column in run))
    found = []
    for application in members:
        own = [_row(application, figure, runs, known) for figure in application.figures]
        # A burst of a fixed time is no page, so it has only a goodput.
        if application.kind == "web" and all(cell.value.mean is None for cell in own[0].cells):
            own.append(_row(application, replace(GOODPUT, only_from=0.01), runs, known))
        found += [row for row in own if row.says_something]
    return found


def _row(
    application: Application, figure: Figure, runs: Sequence[Sequence[Columns]], known: Mapping[str, Metric]
) -> Row:
    values = ([figure.of(run, known, application.flows) for run in of] for of in runs)
    return Row(application, figure, tuple(Cell(estimate(of), _grade(figure, of)) for of in values))


def _grade(figure: Figure, values: list[float | None]) -> Grade | None:
    return figure.grade(None if None in values else estimate(values).mean) if values else None


def _needed(results: Results) -> bool:
    """Return whether flows besides the main one need more than the goodput that its table has."""
    main = focus(results)[0]
    others = (flow for flow in results.flows if flow.name != main.name)
    return main.app not in (*INTERACTIVE, BULK) or any(flow.app != BULK for flow in others)
