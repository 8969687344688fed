"""The plots that `gamelane measure` shows while it measures."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gamelane.terminal.measuring import Progress
from tests.snapshots import check

SNAPSHOTS = Path(__file__).parent / "snapshots"
PHASES = ("idle", "up", "down", "both")


def _measured(until_s: float) -> Progress:
    """A line of 5/20 Mbit/s with queues of 100 ms, reported every half second."""
    progress = Progress(40)
    sent = {"up": 0.0, "down": 0.0}
    for half in range(1, int(2 * until_s) + 1):
        phase = PHASES[min((half - 1) // 20, 3)]
        now: dict[str, Any] = {"t_s": half / 2, "phase": phase, "rtt_ms": 40.0}
        for way, mbps in (("up", 5), ("down", 20)):
            if phase in (way, "both"):
                sent[way] += mbps * 1e6 / 8 / 2
                now["rtt_ms"] += 10 * (half % 10 + 1)
            now[f"{way}_bytes"] = sent[way]
        progress.add(now)
    return progress


@pytest.mark.parametrize("ascii_only", [False, True])
def test_plots_of_a_line(*, ascii_only: bool) -> None:
    for until_s in (0.5, 25, 40):
        text = _measured(until_s).text(ascii_only=ascii_only)
        assert max(map(len, text.splitlines())) < 80
        assert text.isascii() or not ascii_only
        check(SNAPSHOTS / f"measuring-{until_s:g}{'-ascii' if ascii_only else ''}.txt", text + "\n")


def test_a_program_that_knows_no_rates_has_one_plot() -> None:
    progress = Progress(20)
    progress.add({"t_s": 0.1, "phase": "idle", "rtt_ms": 0.0})
    progress.add({"t_s": 19.9, "phase": "both", "rtt_ms": 12.0})
    text = progress.text(ascii_only=True)
    assert "12.0 ms" in text
    assert "Mbit/s" not in text


SHOWS = """
import json, sys
from gamelane.terminal.measuring import Shown
with Shown(2, quiet=False) as shown:
    for now in json.loads(sys.argv[1]):
        shown.show(now)
    raise KeyboardInterrupt
"""


def test_the_plots_disappear_and_the_cursor_comes_back() -> None:
    """Also when the command is interrupted."""
    screen, terminal = pty.openpty()
    said = [{"t_s": at, "phase": "idle", "rtt_ms": 9.5} for at in (0.5, 1.0)]
    words = [sys.executable, "-c", SHOWS, json.dumps(said)]
    with subprocess.Popen(words, stderr=terminal, env={**os.environ, "TERM": "xterm"}) as showing:
        os.close(terminal)
        drawn = ""
        while True:
            try:
                drawn += os.read(screen, 1 << 16).decode()
            except OSError:  # the program has closed the terminal
                break
    os.close(screen)
    assert showing.returncode != 0
    plots, after = drawn.split("Traceback")[0].rsplit("1 s of 2 s", 1)
    assert "9.5 ms" in plots
    assert after.endswith("\x1b[2K")
    assert re.findall(r"\x1b\[\?25[hl]", drawn) == ["\x1b[?25l", "\x1b[?25h"]
