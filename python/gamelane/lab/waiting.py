"""Programs that say when they are ready, and sizes as scenarios write them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from gamelane import quantity
from gamelane.errors import LabError

PATIENCE_S = 30


def for_word(program: subprocess.Popen[str], log: Path, word: str) -> None:
    """Wait until the program has said it."""
    deadline = time.monotonic() + PATIENCE_S
    while word not in (said := log.read_text(encoding="utf-8")):
        if program.poll() is not None or time.monotonic() > deadline:
            raise LabError(f"{log.stem}: {said.strip() or 'it does not start'}")
        time.sleep(0.01)


def size(text: str) -> int:
    """Bytes of a size of a scenario that has been checked."""
    return round(quantity.parse(text, "B") or 0)
