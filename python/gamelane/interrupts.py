"""Handles Ctrl-C by a callback instead of an exception, which could be raised anywhere and be lost."""

from __future__ import annotations

import _thread
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, and what ends a command otherwise: `timeout`, systemd, a terminal that is closed."""


@contextmanager
def on_ctrl_c(heard: Callable[[], None], *, earlier: bool = False) -> Iterator[None]:
    """Call `heard` at every Ctrl-C, SIGTERM and SIGHUP within the block. Works in the main thread only.

    With `earlier`, call it also for one that came before the block, and that a `postponed` block around it keeps.
    A signal that the process ignores stays ignored: Ctrl-C in the background job of a script, SIGHUP under nohup.
    """

    def handler(_number: int, _frame: FrameType | None) -> None:
        heard()

    before = {number: signal.getsignal(number) for number in SIGNALS if current_thread() is main_thread()}
    handled = [number for number, old in before.items() if old != signal.SIG_IGN]
    for number in handled:
        signal.signal(number, handler)
    if earlier and any(kept.heard for kept in _postponed):
        heard()
    try:
        yield
    finally:
        for number in handled:
            if signal.getsignal(number) is handler:  # the block may have decided what follows it
                signal.signal(number, before[number])


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
    """Let the block finish at Ctrl-C, which is handled after it: for clearing up."""
    with postponed() as ctrl_c:
        yield
    if ctrl_c.heard:
        signal.raise_signal(signal.SIGINT)
