"""Prints the summary as tables on the terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from gamelane.analysis.stats import Estimate
from gamelane.plot.style import Look, half_width, number, variant_looks
from gamelane.records.results import GATEWAY, Results
from gamelane.report.fares import Cell, Row, rows
from gamelane.report.headline import headline
from gamelane.report.tables import Column, Table, focus, shapers_table, summary_table

T = TypeVar("T")


def show(results: Results, console: Console) -> None:
    """Print headline, the table of the main flow or of all that have one, that of all applications, and caveats."""
    looks = variant_looks(results)
    console.print(Text(headline(results), style="bold"))
    fares = rows(results)
    for flow in focus(results)[: 1 if fares else None]:
        console.print()
        console.print(Text(f"{flow.name}: {flow.label}", style="italic"))
        _print(summary_table(results, flow), looks, console)
    if fares:
        console.print()
        _print_fares(fares, [looks[variant.name].label for variant in results.variants], console)
    shapers = shapers_table(results)
    if shapers:
        console.print()
        console.print(Text("Shapers that follow the rate of their link", style="italic"))
        _print(shapers, looks, console)
    if results.sources:
        from gamelane.report import agreement_terminal  # noqa: PLC0415 - one engine alone is compared with nothing

        agreement_terminal.show(results, console)
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


def _print(table: Table, looks: dict[str, Look], console: Console) -> None:
    """Print the table in the width of the terminal. A narrow one leaves out intervals before numbers."""
    left_out: list[str] = []
    while not (grid := _fitting(table, looks, console)) and len(table.columns) > 1:
        place = _least(table)
        left_out.insert(0, _heading(table.columns[place]))
        table = Table(
            _without(table.columns, place), tuple(replace(row, cells=_without(row.cells, place)) for row in table.rows)
        )
    console.print(grid or _grid(table, looks, gap=1, intervals=False))
    if left_out:
        console.print(Text(f"Wider terminals also show {', '.join(left_out)}.", style="dim"))


def _fitting(table: Table, looks: dict[str, Look], console: Console) -> Grid | None:
    for gap, intervals in ((2, True), (1, True), (2, False), (1, False)):
        grid = _grid(table, looks, gap=gap, intervals=intervals)
        if _width(grid, console) <= console.width:
            return grid
    return None


def _width(grid: Grid, console: Console) -> int:
    return Measurement.get(console, console.options.update_width(UNBOUNDED), grid).maximum


def _least(table: Table) -> int:
    """Return the place of the column that matters least: the last count of retransmissions, else the last column."""
    counts = [place for place, column in enumerate(table.columns) if column.key.startswith("nth.")]
    return counts[-1] if counts else len(table.columns) - 1


def _without(of: tuple[T, ...], place: int) -> tuple[T, ...]:
    return of[:place] + of[place + 1 :]


def _grid(table: Table, looks: dict[str, Look], *, gap: int, intervals: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    grid.add_column("", no_wrap=True)
    for column in table.columns:
        grid.add_column(f"{_heading(column)}\n{column.unit}", justify="right", no_wrap=True)
    for row in table.rows:
        grid.add_row(looks[row.variant.name].label, *(cell(each, intervals=intervals) for each in row.cells))
    return grid


def _print_fares(fares: Sequence[Row], variants: Sequence[str], console: Console) -> None:
    """Print the table in the width of the terminal. A narrow one has intervals and then columns further below."""
    console.print(Text("All applications, each by the worst of its flows", style="italic"))
    intervals, left = True, list(range(len(variants)))
    while left:
        for count in range(len(left), 0, -1):
            grid = _fares_grid(fares, variants, left[:count], intervals=intervals)
            if _width(grid, console) <= console.width:
                break
        if count < len(left) and intervals:
            intervals = False
            continue
        console.print(grid)
        left = left[count:]
    marks = sorted({cell.grade for row in fares for cell in row.cells if cell.grade is not None and cell.grade.mark})
    if marks:
        console.print(Text(", ".join(f"{grade.mark}{grade.word}" for grade in marks), style="dim"))


def _fares_grid(fares: Sequence[Row], variants: Sequence[str], places: Sequence[int], *, intervals: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("", no_wrap=True)
    grid.add_column("")
    for place in places:
        grid.add_column(variants[place], justify="right", no_wrap=True)
    last = None
    for row in fares:
        name = "" if row.application is last else row.application.name
        last = row.application
        cells = (_fare(row.cells[place], intervals=intervals) for place in places)
        grid.add_row(name, f"{row.figure.heading}, {row.figure.unit}", *cells)
    return grid


def _fare(of: Cell, *, intervals: bool) -> Text:
    value = Text("none") if of.value.mean is None else cell(of.value, intervals=intervals)
    return Text("" if of.grade is None else of.grade.mark).append(value)


def _heading(column: Column) -> str:
    if column.key == "delivery_ms.p50":
        return f"delivery {column.heading}"
    return f"RTT {column.heading}" if column.key == "rtt_ms.p50" else column.heading.removesuffix(" goodput")


def cell(of: Estimate, *, intervals: bool) -> Text:
    """Return an estimate, with the half-width of its interval if `intervals`."""
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
