"""Writes a report to a folder: `report.html` and `figures/`, beside the records."""

from __future__ import annotations

from pathlib import Path

from gamelane.errors import OutputError
from gamelane.plot import images
from gamelane.records.results import Results
from gamelane.report import html
from gamelane.report.figures import figures


def write_report(results: Results, folder: Path) -> Path:
    """Write page and pictures; return the page."""
    drawn = figures(results)
    page = folder / "report.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text(html.page(results, drawn), encoding="utf-8")
        images.write(drawn, folder / "figures")
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
    return page
