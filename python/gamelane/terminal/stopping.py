"""Ends a recording in order: SIGINT (Ctrl-C), SIGTERM (systemd, `timeout`) and SIGHUP (a terminal that is closed)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Whether a signal asked for the end."""

    def __init__(self) -> None:
        self.asked = False
        self._terminals = [file for file in range(3) if os.isatty(file)]

    def leave_closed_terminal(self) -> None:
        """Let output go nowhere, and input end, where a terminal was closed. Using it would fail."""
        closed = [file for file in self._terminals if not os.isatty(file)]
        if closed:
            self._terminals = [file for file in self._terminals if file not in closed]
            nowhere = os.open(os.devnull, os.O_RDWR)
            for file in closed:
                os.dup2(nowhere, file)
            os.close(nowhere)

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        self.leave_closed_terminal()
        # The others may come twice: `timeout` also sends them to the process group, and a shell hands them on.
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def stopping() -> Iterator[Stop]:
    """Note the signals within the block instead of ending the process. A second Ctrl-C raises KeyboardInterrupt.

    A signal that the process ignores from its start stays ignored: SIGINT in a script's job, SIGHUP under nohup.
    After a signal, SIGTERM and SIGHUP are ignored until the process has ended.
    """
    stop = Stop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handled = [number for number in SIGNALS if before[number] != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, stop._heard)
    try:
        yield stop
    finally:
        for number in handled:
            over = stop.asked and number != signal.SIGINT
            signal.signal(number, signal.SIG_IGN if over else before[number])
