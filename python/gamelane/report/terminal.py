"""Prints the summary as tables on the terminal."""

from __future__ import annotations

import io

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from gamelane.analysis.stats import Estimate
from gamelane.plot.style import Look, half_width, number, variant_looks
from gamelane.records.results import Results
from gamelane.records.tap import ENGINE as GATEWAY
from gamelane.report.agreement import BOUND, Sheet, sheets
from gamelane.report.headline import headline
from gamelane.report.tables import Column, Table, focus, shapers_table, summary_table


def show(results: Results, console: Console) -> None:
    """Print headline, one table per main flow, and caveats."""
    looks = variant_looks(results)
    console.print(Text(headline(results), style="bold"))
    for flow in focus(results):
        console.print()
        console.print(Text(f"{flow.name}: {flow.label}", style="italic"))
        console.print(_fitting(summary_table(results, flow), looks, console))
    shapers = shapers_table(results)
    if shapers:
        console.print()
        console.print(Text("Shapers that follow the rate of their link", style="italic"))
        console.print(_fitting(shapers, looks, console))
    for sheet in sheets(results):
        console.print()
        console.print(Text(sheet.title, style="italic"))
        console.print(_agreement(sheet))
        for note in sheet.notes:
            console.print(Text(note, style="dim"))
    console.print()
    for line in _notes(results):
        console.print(Text(line, style="dim"))


def text(results: Results) -> str:
    """Return what `show` prints, 100 columns wide and without colours."""
    if results.finished_runs == 0:
        return f"{results.name}: no run finished"
    out = io.StringIO()
    show(results, Console(file=out, width=100, color_system=None, force_terminal=False, force_jupyter=False))
    return out.getvalue().strip()


def _fitting(table: Table, looks: dict[str, Look], console: Console) -> Grid:
    """Return the grid in the width of the terminal. A narrow one leaves out intervals before numbers."""
    for gap, intervals in ((2, True), (1, True), (2, False)):
        grid = _grid(table, looks, gap=gap, intervals=intervals)
        if Measurement.get(console, console.options.update_width(UNBOUNDED), grid).maximum <= console.width:
            break
    return grid


def _grid(table: Table, looks: dict[str, Look], *, gap: int, intervals: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    grid.add_column("", no_wrap=True)
    for column in table.columns:
        grid.add_column(f"{_heading(column)}\n{column.unit}", justify="right", no_wrap=True)
    for row in table.rows:
        grid.add_row(looks[row.variant.name].label, *(_cell(cell, intervals=intervals) for cell in row.cells))
    return grid


def _agreement(sheet: Sheet) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("", no_wrap=True)
    grid.add_column("RTT", no_wrap=True)
    for heading in (f"{sheet.first}\nms", f"{sheet.other}\nms", "difference\nms", "\n%"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column(f"within\n{BOUND}", no_wrap=True)
    for row in sheet.rows:
        within = Text(row.within, style="bold red" if row.within == "no" else "")
        numbers = (_cell(row.first, intervals=True), _cell(row.other, intervals=True), row.difference, row.percent)
        grid.add_row(row.look.own_label, row.quantity, *numbers, within)
    return grid


def _heading(column: Column) -> str:
    if column.key == "delivery_ms.p50":
        return f"delivery {column.heading}"
    return f"RTT {column.heading}" if column.key == "rtt_ms.p50" else column.heading.removesuffix(" goodput")


def _cell(of: Estimate, *, intervals: bool) -> Text:
    text = Text(number(of.mean))
    if intervals and half_width(of):
        text.append(f" ± {half_width(of)}", style="dim")
    return text


def _notes(results: Results) -> list[str]:
    runs = max(len(variant.runs) for variant in results.variants)
    one = "one run" if results.engine in ("live", GATEWAY) else "one run; --repeat 5 gives intervals"
    spread = f"mean ± 95 % interval over {runs} runs" if runs > 1 else one
    after = f", statistics from {results.warmup_s:g} s" if results.warmup_s else ""
    if results.sources:
        spread += f"; {' + '.join(source.name for source in results.sources)}"
    lines = [f"{results.name}, {results.duration_s:g} s{after}; {spread}"]
    return lines + [f"note: {caveat}" for caveat in results.caveats]


UNBOUNDED = 1000
"""A width that no table reaches, to ask for a table's own width."""
