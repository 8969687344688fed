"""Writes the report of a sweep to its folder: `report.html` and `figures/`."""

from __future__ import annotations

from pathlib import Path

from gamelane.report import pages
from gamelane.report.sweep import html
from gamelane.report.sweep.figures import figures
from gamelane.sweep.records import SweepRecords


def write_report(records: SweepRecords, folder: Path | None = None) -> Path:
    """Write page and pictures; return the page."""
    drawn = figures(records)
    return pages.write((folder or records.folder) / "report.html", html.page(records, drawn), drawn)
