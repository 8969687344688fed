"""Renders the report of runs as one page from `page.html`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from markupsafe import escape

from gamelane.advise.measured import Measured
from gamelane.plot.panels import Figure
from gamelane.plot.style import flow_colours, variant_looks
from gamelane.records.results import GATEWAY, Flow, Results
from gamelane.report import measure
from gamelane.report.agreement import BOUND, sheets
from gamelane.report.fares import Row, rows
from gamelane.report.figures import figures
from gamelane.report.headline import headline
from gamelane.report.pages import environment, render
from gamelane.report.tables import Table, focus, neighbours_table, summary_table


def page(results: Results, drawn: list[Figure] | None = None, measured: Measured | None = None) -> str:
    """Return the page. With many flows, it folds what is not about games and calls."""
    drawn = figures(results) if drawn is None else drawn
    main, fares = focus(results), rows(results)
    many = len(results.flows) > MANY and len(main) < len(results.flows)
    first = [
        each
        for each in drawn
        if not many or each.name == "phases" or any(each.name.endswith(f"-{flow.name}") for flow in main)
    ]
    return render(
        "page.html",
        drawn,
        first=first,
        folded=[each for each in drawn if each not in first],
        main_flows=main if many else results.flows,
        other_flows=[flow for flow in results.flows if many and flow not in main],
        results=results,
        headline=(measured and measure.verdict(measured)) or headline(results),
        measured=measured,
        phases=measured and measure.sheet(measured),
        meaning=[*measure.graded(measured), *measure.limits(measured), measure.clock(measured)] if measured else [],
        looks=variant_looks(results),
        colours=flow_colours(results.flows),
        tables=[(flow, summary_table(results, flow), _neighbours(results, flow, fares)) for flow in main],
        fares=fares,
        runs=max(len(variant.runs) for variant in results.variants),
        agreement=sheets(results),
        bound=BOUND,
        simulated=results.engine == "sim",
        at_gateway=results.engine == GATEWAY,
        commands=commands(results),
    )


def _neighbours(results: Results, flow: Flow, fares: Sequence[Row]) -> Table | None:
    """Return the goodput of the others below the last table, unless the table of all applications has it."""
    return neighbours_table(results, flow) if not fares and flow == focus(results)[-1] else None


MANY = 4
"""Number of flows from which the page shows games and calls first."""


def tables(results: Results) -> str:
    """Return headline, tables and caveats without a page around them, as a notebook shows them."""
    if results.finished_runs == 0:
        return str(escape(f"{results.name}: no run finished"))
    template = environment().get_template("results.html")
    return template.render(
        results=results,
        headline=headline(results),
        looks=variant_looks(results),
        tables=[(flow, summary_table(results, flow)) for flow in focus(results)],
    )


def commands(results: Results) -> list[str]:
    """Return the commands that make these records again, and overlay them if they are overlaid."""
    if not results.sources:
        return [_command(results.command, results)]
    folders = [source.folder or source.name for source in results.sources]
    again = [
        f"{_command(_without_output(source.command), results)} -o {shlex.quote(folder)}"
        for source, folder in zip(results.sources, folders, strict=True)
    ]
    return [*again, f"gamelane report {shlex.join(folders)} -o both"]


def _without_output(typed: Sequence[str]) -> Sequence[str]:
    return typed[: typed.index("-o")] if "-o" in typed else typed


def _command(typed: Sequence[str], results: Results) -> str:
    if typed:
        return shlex.join(typed)
    if results.engine == GATEWAY:
        return f"gamelane report {shlex.quote(str(Path(results.file).parent))}"
    seeds = [run.seed for run in results.variants[0].runs]
    return f"gamelane run {shlex.quote(results.file)} --seed {seeds[0]} --repeat {len(seeds)}"
