"""The real command, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GAMELANE = str(Path(sys.executable).with_name("gamelane"))


def gamelane(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GAMELANE, *map(str, words)], capture_output=True, text=True, check=False, timeout=240, cwd=cwd
    )
