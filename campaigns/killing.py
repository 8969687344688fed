"""Kills one program at a random moment, and waits until nothing of it runs any more.

Each program gets an environment variable of its own, so that its children are found wherever they are. The time until
its end is compared with how slow the machine is in that moment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

Words = list[str | Path]
ROOT = Path(__file__).parents[1]
MARK = "GAMELANE_CAMPAIGN"
SOFT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SIGNALS = (signal.SIGKILL, *SOFT)
HEARS_ALL = ("env", "--default-signal=TERM,INT,HUP")
"""Under `nohup` a program would ignore SIGHUP, and so it does on purpose."""
SOON_S = 2.0
"""Longest time from a signal to the end of a program (docs/exit-codes.md)."""
PATIENCE_S = 30.0
BETWEEN_S = 0.3
"""Longest time between two signals that come shortly one after the other."""
TWICE = 0.25
"""Share of the kills with a second signal."""


@dataclass(frozen=True)
class Blow:
    """One or two signals, and when: seconds after the start, and seconds after the first."""

    after_s: float
    signals: tuple[signal.Signals, ...]
    between_s: float = 0.0

    @property
    def hard(self) -> bool:
        """Whether the program cannot do anything about it."""
        return signal.SIGKILL in self.signals

    def __str__(self) -> str:
        names = " and ".join(number.name for number in self.signals)
        return f"{names} after {self.after_s:.3f} s" + (
            f", {self.between_s:.3f} s apart" if len(self.signals) > 1 else ""
        )


def blow(chance: Random, longest_s: float, signals: Sequence[signal.Signals] = SIGNALS) -> Blow:
    """Draw a moment within `longest_s`, and one signal or two."""
    count = 2 if chance.random() < TWICE else 1
    drawn = tuple(chance.choice(signals) for _ in range(count))
    return Blow(chance.uniform(0, longest_s), drawn, chance.uniform(0, BETWEEN_S) if count > 1 else 0.0)


@dataclass
class Ended:
    """How a program ended."""

    blow: Blow
    code: int
    stdout: str
    stderr: str
    reached: bool
    """Whether it still ran when the (first) signal was sent."""
    took_s: float
    """Seconds from the last signal to the end."""
    running: Running
    wrong: list[str] = field(default_factory=list)


class Running:
    """A program that was started, with all of its children."""

    def __init__(
        self, words: Sequence[str | os.PathLike[str]], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self._mark = uuid.uuid4().hex
        self._out = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed with this object
        self._err = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - likewise
        self.process = subprocess.Popen(
            [*HEARS_ALL, *(os.fspath(word) for word in words)],
            env={**os.environ, **(env or {}), MARK: self._mark},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )

    @property
    def stderr(self) -> str:
        """What it said so far."""
        return _text(self._err.fileno())

    def lasts(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; return the exit code, or None if it still runs."""
        wait(lambda: not self.lasts(), seconds)
        return self.process.poll()

    def says(self, word: str) -> bool:
        """Wait until it says a word; return False if it ended first, or never says it."""
        wait(lambda: word in self.stderr or not self.lasts())
        return self.lasts() and word in self.stderr

    def is_gone(self) -> bool:
        """Wait until no process of it is left; return whether that is so."""
        return wait(lambda: not self.family())

    def family(self) -> list[int]:
        """Return the processes of this program that still run: itself and its children."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if f"{MARK}={self._mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    continue  # it ended meanwhile
        return found

    def signal_all(self, what: signal.Signals) -> None:
        """Send a signal to every process of it."""
        for pid in self.family():
            with suppress(ProcessLookupError):
                os.kill(pid, what)

    def kill(self, of: Blow, pid: int | None = None) -> Ended:
        """Send the signals at their time to the process `pid` of the family, by default the first. Wait for its end."""
        began = time.monotonic()
        while (left := of.after_s - (time.monotonic() - began)) > 0 and self.process.poll() is None:
            time.sleep(min(left, 0.01))
        return self.hit(of, pid)

    def hit(self, of: Blow, pid: int | None = None) -> Ended:
        """Send the signals now, and wait for the end."""
        target = pid or self.process.pid
        reached = self.process.poll() is None
        for number, what in enumerate(of.signals):
            if number:
                time.sleep(of.between_s)
            if self.process.poll() is None:
                os.kill(target, what)
        sent = time.monotonic()
        self.wait(PATIENCE_S)
        took = time.monotonic() - sent
        ended = Ended(of, self.end(), _text(self._out.fileno()), self.stderr, reached, took, self)
        if took >= PATIENCE_S:
            ended.wrong.append(f"it did not end within {PATIENCE_S:.0f} s")
        elif took > SOON_S and took > SOON_S * (slow := slowness()):
            ended.wrong.append(f"it ended {took:.1f} s after the signal, on a machine slower by {slow:.1f}")
        return ended

    def end(self) -> int:
        """Kill it if it still runs. Return its exit code."""
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()

    def orphans(self) -> list[str]:
        """Wait until no process of it is left. Kill and return those that stay."""
        names: list[str] = []
        if self.is_gone():
            return names
        for pid in self.family():
            try:
                names.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:80])
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        return names


def wait(until: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """Wait until something is true; return whether it became true."""
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _text(file: int) -> str:
    return os.pread(file, 1 << 22, 0).decode(errors="replace")


def slowness() -> float:
    """Return how much longer than its processor time something takes now, because others have the processors."""
    wall, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < 0.1:
        sum(range(1000))
    return max(1.0, (time.monotonic() - wall) / (time.thread_time() - used))
