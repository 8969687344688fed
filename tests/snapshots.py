"""Texts for a person to review.

`GAMELANE_SNAPSHOTS=write` writes them again. Read the difference before you accept it.
"""

from __future__ import annotations

import os
from pathlib import Path

WRITES = os.environ.get("GAMELANE_SNAPSHOTS") == "write"


def check(snapshot: Path, text: str) -> None:
    """Compare a text with its file."""
    if WRITES:
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8"), f"{snapshot} differs; GAMELANE_SNAPSHOTS=write writes it again"
