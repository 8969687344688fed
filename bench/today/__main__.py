"""`python -m bench.today`: runs the sweep `today` and writes docs/today.md and its pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gamelane.sweep.records import read

from .page import PICTURES, page, write_pictures

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "target" / "today"


def main() -> None:
    """Run what is missing, then write."""
    subprocess.run([sys.executable, "-m", "gamelane", "sweep", "today", "-o", str(FOLDER)], check=True)
    records = read(FOLDER)
    write_pictures(records, ROOT / "docs" / PICTURES)
    (ROOT / "docs" / "today.md").write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
