"""Writes the report of a sweep to its folder: `report.html` and `figures/`."""

from __future__ import annotations

from pathlib import Path

from gamelane.errors import OutputError
from gamelane.plot import images
from gamelane.report.sweep import html
from gamelane.report.sweep.figures import figures
from gamelane.sweep.records import SweepRecords


def write_report(records: SweepRecords, folder: Path | None = None) -> Path:
    """Write page and pictures; return the page."""
    folder = folder or records.folder
    drawn = figures(records)
    page = folder / "report.html"
    try:
        page.write_text(html.page(records, drawn), encoding="utf-8")
        images.write(drawn, folder / "figures")
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
    return page
