"""Waits for programs to be ready, or for a time, and parses sizes of a scenario."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from gamelane import quantity
from gamelane.errors import LabError

PATIENCE_S = 30
GLANCE_S = 0.02
Stopped = Callable[[], bool]
"""Whether the run is to stop, after Ctrl-C."""


def for_word(program: subprocess.Popen[str], log: Path, word: str) -> None:
    """Wait until the log of a program contains `word`."""
    deadline = time.monotonic() + PATIENCE_S
    while word not in (said := log.read_text(encoding="utf-8")):
        if program.poll() is not None or time.monotonic() > deadline:
            raise LabError(f"{log.stem}: {said.strip() or 'did not start and printed nothing'}")
        time.sleep(0.01)


def until(at: float, stopped: Stopped) -> bool:
    """Wait until a time of the monotonic clock. Return False if `stopped` returned true before."""
    while (left := at - time.monotonic()) > 0:
        if stopped():
            return False
        time.sleep(min(GLANCE_S, left))
    return True


def size(text: str) -> int:
    """Return a size of a checked scenario in bytes."""
    return round(quantity.parse(text, "B") or 0)
