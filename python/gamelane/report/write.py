"""Writes a report to a folder: `report.html` and `figures/`, beside the records."""

from __future__ import annotations

from pathlib import Path

from gamelane.records.results import Results
from gamelane.report import html, pages
from gamelane.report.figures import figures


def write_report(results: Results, folder: Path) -> Path:
    """Write page and pictures; return the page."""
    drawn = figures(results)
    return pages.write(folder / "report.html", html.page(results, drawn), drawn)
