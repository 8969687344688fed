"""Prints a sweep as a map of numbers on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane.analysis.metrics import Metric
from gamelane.report.sweep.overview import (
    Layout,
    Square,
    averaged,
    default_metric,
    headline,
    layout,
    scaled,
    squares,
)
from gamelane.sweep.records import SweepRecords


def show(records: SweepRecords, console: Console) -> None:
    """Print headline, the map of the first metric, and notes."""
    console.print(Text(headline(records), style="bold"))
    metric = default_metric(records)
    if metric is None:
        return
    of = layout(records)
    for grid in _grids(records, squares(records, metric, of), of, metric, console.width):
        console.print()
        console.print(grid)
    console.print()
    for line in _notes(records, averaged(records, of)):
        console.print(Text(line, style="dim"))


def _grids(
    records: SweepRecords, found: Sequence[Square], of: Layout, metric: Metric, available: int
) -> Iterator[Table]:
    """Yield the map of each panel. A map that is too wide is turned, then cut into several."""
    cells = {(square.panel, square.y, square.x): _cell(metric, square) for square in found}
    across, down = of.x, of.y
    if down is not None and _width(records, cells, across, down) > available:
        turned = {(panel, x, y): cell for (panel, y, x), cell in cells.items()}
        if _width(records, turned, down, across) < _width(records, cells, across, down):
            cells, across, down = turned, down, across
    for panel in dict.fromkeys(panel for panel, _, _ in cells):
        own = {(row, column): cell for (named, row, column), cell in cells.items() if named == panel}
        title = "\n".join(filter(None, (panel, metric.name, scaled(metric, 0.0)[1])))
        yield from _cut(own, title, records.dimensions[across].short, available)


def _width(records: SweepRecords, cells: Mapping[tuple[str, str, str], Text], across: int, down: int) -> int:
    """Return the width of a map, roughly: that of its row labels and of its columns."""
    rows, columns = (records.dimensions[index].labels for index in (down, across))
    number = max(map(cell_len, map(str, cells.values())), default=0)
    return max(map(cell_len, rows)) + sum(GAP + max(cell_len(column), number) for column in columns)


def _cut(cells: Mapping[tuple[str, str], Text], title: str, above: str, available: int) -> Iterator[Table]:
    rows, columns = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    first = max(map(cell_len, (*title.split("\n"), *rows)))
    while columns:
        kept: list[str] = []
        left = available - first
        while columns and (not kept or left >= GAP + _column_width(cells, rows, columns[0], above)):
            left -= GAP + _column_width(cells, rows, columns[0], above)
            kept.append(columns.pop(0))
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
        table.add_column(title, overflow="fold")
        for column in kept:
            table.add_column(f"{above}\n{column}", justify="right", no_wrap=True)
        for row in rows:
            table.add_row(row, *(cells.get((row, column), Text("")) for column in kept))
        yield table


def _column_width(cells: Mapping[tuple[str, str], Text], rows: Sequence[str], column: str, above: str) -> int:
    numbers = (cells[row, column].plain for row in rows if (row, column) in cells)
    return max(map(cell_len, (above, column, *numbers)))


GAP = 2
"""Spaces between two columns."""


def _cell(metric: Metric, square: Square) -> Text:
    if square.value is None:
        return Text("", style="dim")
    number, unit = scaled(metric, square.value)
    style = "" if not square.kept else "green" if square.kept == square.cells else "yellow"
    return Text(number + (f" {unit}" if unit == "%" else ""), style=style)


def _notes(records: SweepRecords, mean_of: str) -> list[str]:
    seeds = len(records.document["seeds"])
    runs = f"{records.finished} of {records.planned} runs of {records.document['base']['duration_s']:g} s"
    lines = [f"{records.name}: {runs}, {seeds} {'seed' if seeds == 1 else 'seeds'} each"]
    lines += [
        f"{dimension.short}: linked with {', '.join(dimension.keys[1:])}"
        for dimension in records.dimensions
        if len(dimension.keys) > 1
    ]
    if mean_of:
        lines.append(f"each number is the mean over {mean_of}")
    if records.limits:
        lines.append("green: every combination meets every budget; yellow: some do")
    return lines + [f"note: {caveat}" for caveat in records.document["caveats"]]
