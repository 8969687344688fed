"""Prints a sweep as a map of numbers on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane.report.sweep.overview import Square, averaged, default_metric, headline, layout, scaled, squares
from gamelane.sweep.metrics import Metric
from gamelane.sweep.records import SweepRecords


def show(records: SweepRecords, console: Console) -> None:
    """Print headline, the map of the first metric, and notes."""
    console.print(Text(headline(records), style="bold"))
    metric = default_metric(records)
    if metric is None:
        return
    of = layout(records)
    found = squares(records, metric, of)
    x = records.dimensions[of.x]
    for panel in dict.fromkeys(square.panel for square in found):
        here = [square for square in found if square.panel == panel]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(f"{panel}\n{metric.name}" if panel else metric.name, no_wrap=True)
        for column in dict.fromkeys(square.x for square in here):
            table.add_column(f"{x.short}\n{column}", justify="right")
        for row in dict.fromkeys(square.y for square in here):
            values = {square.x: square for square in here if square.y == row}
            table.add_row(row, *(_cell(metric, square) for square in values.values()))
        console.print()
        console.print(table)
    console.print()
    for line in _notes(records, averaged(records, of)):
        console.print(Text(line, style="dim"))


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
    if mean_of:
        lines.append(f"each number is the mean over {mean_of}")
    if records.limits:
        lines.append("green: every combination meets every budget; yellow: some do")
    return lines + [f"note: {caveat}" for caveat in records.document["caveats"]]
