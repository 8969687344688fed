"""The real command, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

GAMELANE = str(Path(sys.executable).with_name("gamelane"))


def gamelane(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GAMELANE, *map(str, words)], capture_output=True, text=True, check=False, timeout=240, cwd=cwd
    )


def computes(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait until a process has used so much processor time: a clock that stands while others have the cores."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        time.sleep(2 * seconds)
        return
    deadline = time.monotonic() + 240
    used = 0.0
    while used < seconds and process.poll() is None and time.monotonic() < deadline:
        fields = stat.read_text().rsplit(")", 1)[1].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.02)
