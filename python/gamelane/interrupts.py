"""Handles Ctrl-C by a callback instead of an exception, which could be raised anywhere and be lost."""

from __future__ import annotations

import _thread
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, and what ends a command otherwise: `timeout`, systemd, a terminal that is closed."""

Handler = Callable[[int, FrameType | None], Any] | int | None


@contextmanager
def _handled(handler: Handler) -> Iterator[dict[signal.Signals, Handler]]:
    """Handle the signals by this within the block. Yield what handled those that are not ignored before."""
    before = {number: signal.getsignal(number) for number in SIGNALS if current_thread() is main_thread()}
    changed = {number: old for number, old in before.items() if old != signal.SIG_IGN}
    for number in changed:
        signal.signal(number, handler)
    try:
        yield changed
    finally:
        for number, old in changed.items():
            if signal.getsignal(number) is handler:  # the block may have decided what follows it
                signal.signal(number, old)


@contextmanager
def on_ctrl_c(heard: Callable[[], None], *, earlier: bool = False) -> Iterator[None]:
    """Call `heard` at every Ctrl-C, SIGTERM and SIGHUP within the block. Works in the main thread only.

    With `earlier`, call it also for one that came before the block, and that a `postponed` block around it keeps.
    A signal that the process ignores stays ignored: Ctrl-C in the background job of a script, SIGHUP under nohup.
    """

    def handler(_number: int, _frame: FrameType | None) -> None:
        heard()

    with _handled(handler):
        if earlier and any(kept.heard for kept in _postponed):
            heard()
        yield


class CtrlC:
    """Whether Ctrl-C was pressed."""

    heard = False


@contextmanager
def raised() -> Iterator[CtrlC]:
    """Raise KeyboardInterrupt at Ctrl-C, and tell that it came: an import may turn it into an error of its own.

    In a callback, where Python ignores exceptions, it is raised again soon after.
    """
    pressed = CtrlC()

    def heard() -> None:
        pressed.heard = True
        raise KeyboardInterrupt

    def ignored(what: sys.UnraisableHookArgs) -> None:
        if what.exc_type is KeyboardInterrupt:
            Timer(AGAIN_S, _thread.interrupt_main).start()
        else:
            before(what)

    before, sys.unraisablehook = sys.unraisablehook, ignored
    try:
        with on_ctrl_c(heard):
            yield pressed
    finally:
        sys.unraisablehook = before


AGAIN_S = 0.01


@contextmanager
def postponed() -> Iterator[CtrlC]:
    """Let the block finish at Ctrl-C, and tell afterwards. A second Ctrl-C ends it at once."""
    pressed = CtrlC()

    def heard() -> None:
        if pressed.heard:
            raise KeyboardInterrupt
        pressed.heard = True

    _postponed.append(pressed)
    try:
        with on_ctrl_c(heard):
            yield pressed
    finally:
        _postponed.remove(pressed)


_postponed: list[CtrlC] = []
"""Of the `postponed` blocks that run."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let the block finish at a signal, which is handled after it: for clearing up. A second one is handled at once.

    Each is handled as outside the block: a command that clears up after SIGTERM may hear SIGHUP, too.
    """
    noted: list[int] = []
    before: dict[signal.Signals, Handler] = {}

    def handler(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        outer = before.get(signal.Signals(number))
        if len(noted) > 1 and callable(outer):
            outer(number, frame)

    with _handled(handler) as outside:
        before.update(outside)
        yield
    if noted:
        signal.raise_signal(noted[0])
