"""Prints on the terminal whether overlaid results agree."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from gamelane.records.results import Results
from gamelane.report.agreement import BOUND, Sheet, sheets
from gamelane.report.terminal import cell


def show(results: Results, console: Console) -> None:
    """Print a table for each pair of sources and each main flow."""
    for sheet in sheets(results):
        console.print()
        console.print(Text(sheet.title, style="italic"))
        console.print(_grid(sheet))
        for note in sheet.notes:
            console.print(Text(note, style="dim"))


def _grid(sheet: Sheet) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("", no_wrap=True)
    grid.add_column("RTT", no_wrap=True)
    for heading in (f"{sheet.first}\nms", f"{sheet.other}\nms", "difference\nms", "\n%"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column(f"within\n{BOUND}", no_wrap=True)
    for row in sheet.rows:
        within = Text(row.within, style="bold red" if row.within == "no" else "")
        numbers = (cell(row.first, intervals=True), cell(row.other, intervals=True), row.difference, row.percent)
        grid.add_row(row.look.own_label, row.quantity, *numbers, within)
    return grid
