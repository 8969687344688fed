"""Assertions that a busy machine can spoil. The fixture `up_to_three_times` repeats a measurement only for these."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

NAP_S, LATE_S = 0.005, 0.005
"""Length of a nap. A nap is late if the thread wakes up this long after its end."""
MOST_LATE = 0.05
"""Share of late naps on a calm machine."""
MOST_STOLEN = 0.03
"""Share of its processors that other virtual machines take from a calm machine. A modem of 58 Mbit/s gave 54 at 7 %."""
SHORTEST_S = 0.2
"""Time in which naps are enough to judge a machine."""


@dataclass
class Patience:
    """Time that attempts on a disturbed machine may take, of all tests together."""

    left_s: float = 1200.0


PATIENCE = Patience()


class LateError(AssertionError):
    """A bound on real time was missed."""


def in_time(holds: bool, seen: object) -> None:
    """Assert a bound that a busy machine can miss; `seen` is what was measured."""
    if not holds:
        raise LateError(str(seen))


def repeat(measure: Callable[[], None], say: Callable[[str], None]) -> None:
    """Measure up to three times. Failures on a disturbed machine do not count until `PATIENCE` is used up."""
    calm = 0
    while True:
        with Watch() as machine:
            try:
                return measure()
            except LateError as error:
                why = " ".join(str(error).split())[:200]
        if machine.disturbed and PATIENCE.left_s > 0:
            PATIENCE.left_s -= machine.passed_s
        else:
            calm += 1
        if calm == 3:
            raise LateError(f"{why} ({machine})")
        say(f"{why} ({machine})")


class Watch:
    """What the machine did during a measurement: time that other virtual machines took, late naps, busy processes."""

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._ticks, self._processes = _ticks(), _processes()
        self._naps = self._late = 0
        self._ended = threading.Event()
        self._napping = threading.Thread(target=self._nap, daemon=True)
        self._napping.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._napping.join()

    def _nap(self) -> None:
        while not self._ended.is_set():
            until = time.monotonic() + NAP_S
            time.sleep(NAP_S)
            self._naps += 1
            self._late += time.monotonic() - until > LATE_S

    @property
    def passed_s(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    @property
    def disturbed(self) -> bool:
        """Whether the machine was too busy to measure time."""
        passed = self._passed()
        stolen = passed["steal"] > MOST_STOLEN * sum(passed.values())
        return self.passed_s > SHORTEST_S and (stolen or self._late > MOST_LATE * self._naps)

    def _passed(self) -> dict[str, int]:
        return {name: count - self._ticks[name] for name, count in _ticks().items()}

    def __str__(self) -> str:
        passed = self._passed()
        total = max(sum(passed.values()), 1)
        before = self._processes
        took = {key: count - before.get(key, 0) for key, count in _processes().items()}
        busiest = sorted(took.items(), key=lambda each: -each[1])[:4]
        shares = {name: passed[name] for name in ("idle", "steal")}
        shares |= {name: ticks for (_, name), ticks in busiest if ticks}
        said = ", ".join(f"{name} {100 * ticks / total:.0f} %" for name, ticks in shares.items())
        return f"{self._late} of {self._naps} naps late; {said}"


def _ticks() -> dict[str, int]:
    """Return the ticks of all processors since their start, by what they did."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    return dict(zip(names, map(int, Path("/proc/stat").read_text().split()[1:9]), strict=True))


def _processes() -> dict[tuple[int, str], int]:
    """Return the processor time of each process in ticks."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            before, _, after = stat.read_text().rpartition(")")
            name, words = before.partition("(")[2], after.split()
            found[int(stat.parent.name), name] = int(words[11]) + int(words[12])
    return found
