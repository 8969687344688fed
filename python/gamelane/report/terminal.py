"""The summary as a table for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from gamelane.analysis.stats import Estimate
from gamelane.analysis.tables import Table, focus, summary_table
from gamelane.records.results import Flow, Results
from gamelane.report.headline import headline
from gamelane.report.style import Look, half_width, number, variant_looks


def show(results: Results, console: Console) -> None:
    """Print headline, one table per flow of interest, and what to keep in mind."""
    looks = variant_looks(results)
    console.print(Text(headline(results), style="bold"))
    for flow in focus(results):
        console.print()
        console.print(_grid(flow, summary_table(results, flow), looks))
    console.print()
    for line in _notes(results):
        console.print(Text(line, style="dim"))


def _grid(flow: Flow, table: Table, looks: dict[str, Look]) -> Grid:
    grid = Grid(
        title=Text(f"{flow.name}: {flow.label}"), title_justify="left", box=None, pad_edge=False, padding=(0, 2)
    )
    grid.add_column("")
    for column in table.columns:
        grid.add_column(f"{_short(column.heading)}\n{column.unit}", justify="right", no_wrap=True)
    for row in table.rows:
        grid.add_row(looks[row.variant.name].label, *(_cell(cell) for cell in row.cells))
    return grid


def _short(heading: str) -> str:
    return {"median": "RTT median", "95 %": "RTT 95 %", "99 %": "RTT 99 %", "peak": "RTT peak"}.get(heading, heading)


def _cell(of: Estimate) -> Text:
    text = Text(number(of.mean))
    if half_width(of):
        text.append(f" ± {half_width(of)}", style="dim")
    return text


def _notes(results: Results) -> list[str]:
    runs = max(len(variant.runs) for variant in results.variants)
    spread = f"mean ± 95 % interval over {runs} runs" if runs > 1 else "one run; --repeat 5 gives intervals"
    after = f", statistics from {results.warmup_s:g} s on" if results.warmup_s else ""
    lines = [f"{results.name}, {results.duration_s:g} s{after}; {spread}"]
    return lines + [f"note: {caveat}" for caveat in results.caveats]
