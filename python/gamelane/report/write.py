"""Writes a report to a folder: `report.html` and `figures/`, beside the records."""

from __future__ import annotations

from pathlib import Path

from gamelane.advise.measured import Measured
from gamelane.records.results import Results
from gamelane.report import html, pages
from gamelane.report.figures import figures
from gamelane.report.phase_figure import Series, figure


def write_report(results: Results, folder: Path, measured: Measured | None = None) -> Path:
    """Write page and pictures; return the page. That of a measured line begins with its grade."""
    drawn = figures(results)
    if measured is not None and any(phase.rtt_ms for phase in measured.phases):
        drawn = [
            figure([Series("measured", measured.phases)], "the probes" if measured.imported else "the game"),
            *drawn,
        ]
    return pages.write(folder / "report.html", html.page(results, drawn, measured), drawn)
