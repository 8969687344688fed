"""Runs irtt and iperf3 against their servers: probes all the time, loads one after another. Their files are kept."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gamelane.advise.measured import Plan
from gamelane.errors import RecordsError, UsageError
from gamelane.foreign import iperf3, joined

LOADS = {"up": (), "down": ("--reverse",), "both": ("--bidir",)}
"""Options of iperf3 for the load of each phase."""
PORTS = {"irtt": 2112, "iperf3": 5201}
"""Ports of their servers."""
SERVERS = {
    "irtt": "`irtt server` must run there, and its UDP port be open",
    "iperf3": "`iperf3 -s` must run there, and its TCP port be open",
}
SHORTEST_S = 20
"""Shortest measurement: a shorter phase is lost in the whole seconds of iperf3's stamp."""
SPACED, PAYLOAD_BYTES = "20ms", 172
"""Distance and payload of irtt's packets: those of a call with G.711."""
PAUSE_S = 1.0
"""Time after a load: the queue drains, and the whole seconds of iperf3's stamp do not join two loads."""
PATIENCE_S = 15.0
"""Longest wait for a program that should have ended."""
LOOKED_EVERY_S = 0.1
ROUND_TRIP = re.compile(r"\brtt=([\d.]+)(ns|µs|ms|s)\b")
MS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}

OnProgress = Callable[[float, str, float], None]
"""Gets the seconds since the start, the phase, and the newest round trip in ms."""


def ports(by: str) -> dict[str, int]:
    """Read `--by`: programs, each with the port of its server if that is not the usual one. Raises UsageError."""
    found = {}
    for word in by.split(","):
        name, colon, port = word.strip().partition(":")
        if name not in PORTS or (colon and not (port.isdecimal() and 0 < int(port) < 2**16)):
            raise UsageError(
                f"--by {by}: not a program or port: {word}\n  allowed: irtt, iperf3, irtt:PORT, iperf3:PORT"
            )
        if shutil.which(name) is None:
            raise UsageError(f"--by {by}: {name} is not installed\n  hint:    apt-get install {name}")
        found[name] = int(port) if colon else PORTS[name]
    return found


@dataclass
class Driven:
    """A measurement by other programs."""

    host: str
    ports: dict[str, int]
    plan: Plan
    folder: Path
    stopped: Callable[[], bool]
    """Whether somebody asked for the end."""
    on_progress: OnProgress
    files: list[Path] = field(default_factory=list)
    """What can be imported."""
    failed: str | None = None
    """What ended it early: a program, and what it said."""
    _rtt_ms: float = 0.0
    _began: float = field(default_factory=time.monotonic)
    _probing: subprocess.Popen[str] | None = None
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self) -> None:
        """Run the programs until the time is up, one of them fails, or somebody stops it. None of them stays."""
        try:
            self._measure()
        finally:
            for process in self._started:
                process.kill()
                process.wait()

    def _measure(self) -> None:
        quarter = self.plan.seconds / 4
        loads = LOADS if "iperf3" in self.ports else {}
        if "irtt" in self.ports:
            self._probing = self._probe()
            self._wait("idle", quarter if loads else self.plan.seconds)
        for place, phase in enumerate(loads, 1):
            if self._over:
                break
            self._load(phase, place * quarter)
        if self._probing is not None:
            self._end("irtt", self._probing, self.folder / "irtt.json")

    @property
    def _over(self) -> bool:
        return self.stopped() or self.failed is not None

    def _start(self, words: list[str], *, output: int | IO[str], said: Path) -> subprocess.Popen[str]:
        # A session of its own: Ctrl-C reaches gamelane alone, which ends the programs one after another.
        with said.open("w") as errors:
            process = subprocess.Popen(words, stdout=output, stderr=errors, text=True, start_new_session=True)
        self._started.append(process)
        return process

    def _probe(self) -> subprocess.Popen[str]:
        host = f"[{self.host}]" if ":" in self.host else self.host
        words = ["irtt", "client", "-i", SPACED, "-l", str(PAYLOAD_BYTES), "-d", f"{self.plan.seconds + 1}s"]
        words += ["-o", str(self.folder / "irtt.json"), f"{host}:{self.ports['irtt']}"]
        probing = self._start(words, output=subprocess.PIPE, said=self.folder / "irtt.err")
        threading.Thread(target=self._follow, args=(probing,), daemon=True).start()
        return probing

    def _follow(self, probing: subprocess.Popen[str]) -> None:
        """Note each round trip that irtt prints."""
        assert probing.stdout is not None
        for line in probing.stdout:
            if found := ROUND_TRIP.search(line):
                self._rtt_ms = float(found[1]) * MS[found[2]]

    def _load(self, phase: str, until_s: float) -> None:
        seconds = max(int(until_s + self.plan.seconds / 4 - PAUSE_S - self._passed_s), 1)
        words = ["iperf3", "--client", self.host, "--port", str(self.ports["iperf3"]), "--json", "--get-server-output"]
        words += [*LOADS[phase], "--time", str(seconds), "--parallel", str(self.plan.streams)]
        words += ["--congestion", self.plan.congestion] if self.plan.congestion else []
        file = self.folder / f"{phase}.json"
        with file.open("w") as output:
            loading = self._start(words, output=output, said=self.folder / "iperf3.err")
        self._wait(phase, seconds + PATIENCE_S, loading)
        self._end("iperf3", loading, file)
        if not self._over:
            self._wait(phase, PAUSE_S)

    def _wait(self, phase: str, seconds: float, loading: subprocess.Popen[str] | None = None) -> None:
        """Wait until a time is over, the load has ended, irtt has ended too early, or somebody stops it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._over and (loading is None or loading.poll() is None):
            if self._probing is not None and self._probing.poll() is not None:
                self._fail("irtt", _last(self.folder / "irtt.err") or "ended too early")
            self.on_progress(self._passed_s, phase, self._rtt_ms)
            time.sleep(LOOKED_EVERY_S)

    def _fail(self, name: str, said: str) -> None:
        self.failed = f"{name}: {said}\n  hint:    {SERVERS[name]}"

    @property
    def _passed_s(self) -> float:
        return time.monotonic() - self._began

    def _end(self, name: str, process: subprocess.Popen[str], file: Path) -> None:
        """End a program, and keep its file if it says something. Both programs write what they have upon SIGINT."""
        try:
            if name == "irtt" and not self._over:
                process.wait(PATIENCE_S)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        try:
            self.files += [found.file for found in [joined.recognised(file)] if found.loads or found.probes is not None]
        except RecordsError:
            if not self._over:
                self._fail(name, _error(file) or _last(file.with_name(f"{name}.err")) or "wrote no result")


def _error(file: Path) -> str | None:
    """Return what iperf3 wrote as its error."""
    try:
        return iperf3.failure(file, file.read_bytes())
    except (OSError, RecordsError):
        return None


def _last(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
