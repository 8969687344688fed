"""The report of runs as one page: `page.html`; this file only gathers what it needs."""

from __future__ import annotations

import shlex

from gamelane.analysis.tables import focus, neighbours_table, summary_table
from gamelane.records.results import Results
from gamelane.report.figures import figures
from gamelane.report.headline import headline
from gamelane.report.pages import render
from gamelane.report.panels import Figure
from gamelane.report.style import flow_colours, variant_looks


def page(results: Results, drawn: list[Figure] | None = None) -> str:
    """Return the page."""
    return render(
        "page.html",
        figures(results) if drawn is None else drawn,
        results=results,
        headline=headline(results),
        looks=variant_looks(results),
        colours=flow_colours(results.flows),
        tables=[(flow, summary_table(results, flow), neighbours_table(results, flow)) for flow in focus(results)],
        runs=max(len(variant.runs) for variant in results.variants),
        command=command(results),
    )


def command(results: Results) -> str:
    """Return what to type to get these records again."""
    if results.command:
        return shlex.join(results.command)
    seeds = [run.seed for run in results.variants[0].runs]
    return f"gamelane run {shlex.quote(results.file)} --seed {seeds[0]} --repeat {len(seeds)}"
