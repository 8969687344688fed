#!/usr/bin/env python3
"""Judges the claims of papers and writes docs/claims/ledger/PAPER.md. Without a name: every paper, in five minutes.

With `--settings PAPER` it writes docs/claims/ledger/PAPER-settings.md instead: collom2016 takes ten
minutes, but2006 four.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gamelane.claims import PAPERS, Paper, settings
from gamelane.claims.judge import judge
from gamelane.claims.settings import Settings
from gamelane.report.ledger import page

REPEATS = 5
THREADS = os.cpu_count() or 1
FOLDER = Path(__file__).resolve().parents[1] / "docs/claims/ledger"


def write(names: list[str]) -> None:
    """Write the pages of these papers."""
    for name in names or PAPERS:
        judged = judge(Paper.read(name), repeats=REPEATS, threads=THREADS, on_run=lambda: None)
        (FOLDER / f"{name}.md").write_text(page(judged, REPEATS), encoding="utf-8")


def write_settings(paper: str) -> None:
    """Write the verdicts on a paper under each of its settings."""
    of = Settings.read(paper)
    judged = [(each, settings.judge(of, each, repeats=REPEATS, threads=THREADS)) for each in of.settings]
    (FOLDER / f"{paper}-settings.md").write_text(settings.page(paper, judged, REPEATS), encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--settings", paper]:
            write_settings(paper)
        case names:
            write(names)
