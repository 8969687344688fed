#!/usr/bin/env python3
"""Judges the claims of papers and writes docs/claims/ledger/PAPER.md. Without a name: every paper, in a few minutes.

With `--settings` it writes docs/claims/ledger/collom2016-settings.md instead, in about ten minutes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gamelane.claims import PAPERS, Paper
from gamelane.claims.collom2016 import settings
from gamelane.claims.judge import judge
from gamelane.report.ledger import page

REPEATS = 5
FOLDER = Path(__file__).resolve().parents[1] / "docs/claims/ledger"


def main(names: list[str]) -> None:
    """Write the pages of these papers."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or PAPERS:
        judged = judge(Paper.read(name), repeats=REPEATS, threads=os.cpu_count() or 1, on_run=lambda: None)
        (FOLDER / f"{name}.md").write_text(page(judged, REPEATS), encoding="utf-8")


def write_settings() -> None:
    """Write the verdicts on collom2016 under each of its settings."""
    threads = os.cpu_count() or 1
    judged = [(each, settings.judge(each, repeats=REPEATS, threads=threads)) for each in settings.read()]
    (FOLDER / "collom2016-settings.md").write_text(settings.page(judged, REPEATS), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--settings"]:
        write_settings()
    else:
        main(sys.argv[1:])
