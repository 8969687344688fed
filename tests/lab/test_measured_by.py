"""`gamelane measure --by irtt,iperf3` over a modem of known rate and buffer."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gamelane.lab.namespaces import Lab, missing
from tests.conftest import Repeat
from tests.lab.hidden import Hidden, Modem, hidden, wait_for
from tests.needs import lacking, needs
from tests.real_time import in_time

pytestmark = needs(all(map(shutil.which, ("irtt", "iperf3"))), "needs irtt and iperf3")
MODEM = Modem(up_kbit=10_000, down_kbit=40_000, up_bytes=100_000, down_bytes=400_000, delay_ms=10)
MEASURE = (sys.executable, "-m", "gamelane", "measure", "10.9.0.2", "--json", "--by", "irtt,iperf3")
LOAD = ("--duration", "40s", "--congestion", "reno")
"""Data that waits behind a lost segment when a phase's figures begin counts in them: up to the modem's 100 kB, which is
1 % of the 8 s that count."""
PAYLOAD = 1448 / (1500 + MODEM.header_bytes)
"""Share of TCP's payload in what the modem counts."""
PROBES_KBIT = 50 * 8 * (172 + 28 + MODEM.header_bytes) / 1000
"""Rate of irtt's packets."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Hidden]:
    """Set the hosts, with both servers."""
    if why := missing():
        lacking(why)
    with Lab() as lab:
        found = hidden(lab, tmp_path, MODEM)
        lab.start(found.server, "irtt", "server", "-b", "10.9.0.2:2112", log=tmp_path / "irtt.log")
        lab.start(found.server, "iperf3", "--server", "--forceflush", log=tmp_path / "iperf3.log")
        wait_for("listening", tmp_path / "iperf3.log")
        yield found


def test_other_programs_measure_the_line(home: Hidden, tmp_path: Path, up_to_three_times: Repeat) -> None:
    """Their rates are within 2 % of the modem's, and the idle round trip within 1 ms."""
    outs = (tmp_path / str(attempt) for attempt in count())
    up_to_three_times(lambda: _measured(home, next(outs)))


def _measured(home: Hidden, out: Path) -> None:
    said = home.home.run(*MEASURE, *LOAD, "-o", out, timeout_s=120)
    document: dict[str, Any] = json.loads(said)
    phases = {phase["name"]: phase for phase in document["phases"]}
    assert list(phases) == ["idle", "up", "down", "both"]
    in_time(abs(phases["idle"]["rtt_ms"]["p50"] - 20.3) < 1, str(phases["idle"]))
    for way, kbit in (("up", MODEM.up_kbit), ("down", MODEM.down_kbit)):
        found = phases[way][way]["mbps"]
        in_time(abs(found / (1e-3 * (kbit - PROBES_KBIT) * PAYLOAD) - 1) < 0.02, f"{way}: {found} Mbit/s")
    assert json.loads((out / "measure.json").read_text())["plan"]["seconds"] == 40


def test_ctrl_c_twice_leaves_no_program(home: Hidden, tmp_path: Path) -> None:
    """The second Ctrl-C comes while gamelane waits for an irtt that does not end."""
    words = home.home.command([*MEASURE, *LOAD])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for("Accepted connection", tmp_path / "iperf3.log")
        os.kill(_clients()["irtt"], signal.SIGSTOP)
        running.send_signal(signal.SIGINT)
        until = time.monotonic() + 10
        while "iperf3" in _clients():
            assert time.monotonic() < until
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, messages = running.communicate(timeout=60)
    assert running.returncode == 130, messages
    assert _clients() == {}


def _clients() -> dict[str, int]:
    """Return the processes that measure the server of this test, by their program."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            name, *words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if name in ("irtt", "iperf3") and words[0] in ("client", "--client") and "10.9.0.2" in " ".join(words):
                found[name] = int(process.name)
    return found


def test_what_was_measured_is_kept(home: Hidden, tmp_path: Path) -> None:
    """Ctrl-C in a load keeps the phases before it."""
    words = home.home.command([*MEASURE, *LOAD, "-o", tmp_path / "out"])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for("Accepted connection", tmp_path / "iperf3.log")
        time.sleep(2)
        running.send_signal(signal.SIGINT)
        said, messages = running.communicate(timeout=60)
    assert running.returncode == 130, messages
    assert "idle" in [phase["name"] for phase in json.loads(said)["phases"]]
    assert "stopped early" in messages
    assert (tmp_path / "out" / "report.html").exists()
