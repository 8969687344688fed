"""Boots one guest and waits until it is off. A guest that hangs is ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gamelane.errors import LabError
from gamelane.guest.inside import AT
from gamelane.guest.kinds import Guest

SILENT_S = 300.0
"""A guest that reports no progress for this long is ended. Heavy traffic takes seconds of wall time per second."""
GLANCE_S = 0.05
TAKEN = "\0gamelane-guest-core-"
"""Name of the socket that marks a core as taken, before the number of the core."""
KEPT = 30
"""Last lines of a guest that an error shows."""
NOISE = ("setup_one_line failed", "Using a channel type")
"""Lines of User-Mode-Linux about consoles that it does not have."""


@dataclass
class Watch:
    """A run in a guest, seen from outside."""

    name: str
    seed: int
    ended: threading.Event
    """Set to end all guests."""
    at_s: float = 0.0
    """How far it is, seconds of virtual time."""


def boot(guest: Guest, folder: Path, watch: Watch) -> Sequence[str] | None:
    """Boot a guest. Return its last lines; None if it was ended before. Raise `LabError` if it hangs."""
    lines: deque[str] = deque(maxlen=KEPT)
    heard_s = time.monotonic()

    def hear(line: str) -> None:
        nonlocal heard_s
        heard_s = time.monotonic()
        if line.startswith(AT):
            watch.at_s = float(line.removeprefix(AT))
        elif not any(noise in line for noise in NOISE):
            lines.append(line.rstrip())

    with _running(guest, folder, watch.seed, hear) as process:
        while process.poll() is None:
            if watch.ended.wait(GLANCE_S):
                return None
            if time.monotonic() - heard_s > SILENT_S:
                raise LabError(
                    f"{watch.name} reported no progress for {SILENT_S:g} s and was ended\n"
                    "  hint:    a program that polls the clock without sleeping never ends in virtual time"
                )
    return lines


@contextmanager
def _running(guest: Guest, folder: Path, seed: int, hear: Callable[[str], None]) -> Iterator[subprocess.Popen[str]]:
    """Start a guest. At the end kill it, and the processes of its programs: they share its process group."""
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *guest.command(seed)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=guest.environment(seed),
        cwd=folder,
        start_new_session=True,
    )

    def listen() -> None:
        for line in process.stdout or ():
            hear(line)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        with core() as own:
            with suppress(OSError):
                os.sched_setaffinity(process.pid, {own})
            yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        listener.join()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def core() -> Iterator[int]:
    """Take a core that no other guest of this machine has, or any if there is none.

    Kernel and programs of a guest wait for each other, so one core is twice as fast. The kernel frees the name of a
    socket however its process ends.
    """
    own = sorted(os.sched_getaffinity(0))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as taken:
        for number in own:
            with suppress(OSError):
                taken.bind(f"{TAKEN}{number}")
                break
        else:
            number = own[os.getpid() % len(own)]
        yield number
