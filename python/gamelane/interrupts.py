"""Handles Ctrl-C by a callback instead of an exception, which could be raised anywhere and be lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, get_ident, main_thread
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
    """Raise KeyboardInterrupt at Ctrl-C, and tell that it came: a library may turn it into an error of its own.

    An import is finished first: Polars panics if one of its own is interrupted.
    In a callback, where Python ignores exceptions, it is raised again soon after.
    """
    pressed = CtrlC()
    thread = get_ident()
    later: list[Timer] = []

    def again() -> None:
        later.append(Timer(AGAIN_S, signal.pthread_kill, (thread, signal.SIGINT)))
        later[-1].start()

    def handler(_number: int, frame: FrameType | None) -> None:
        pressed.heard = True
        if not _imports(frame):
            raise KeyboardInterrupt
        again()

    def ignored(what: sys.UnraisableHookArgs) -> None:
        if what.exc_type is KeyboardInterrupt:
            again()
        else:
            before(what)

    before, sys.unraisablehook = sys.unraisablehook, ignored
    _raised.append(pressed)
    try:
        with _handled(handler):
            try:
                yield pressed
            finally:
                for timer in later:
                    timer.cancel()
    finally:
        sys.unraisablehook = before
        _raised.remove(pressed)


_raised: list[CtrlC] = []
"""Of the `raised` blocks that run."""


def leave_to_program() -> None:
    """Leave signals to the program that this process becomes. One that still waits to be handled would be lost.

    Raises KeyboardInterrupt if there is one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # handles what Python has noted
    try:
        if any(kept.heard for kept in _raised):
            raise KeyboardInterrupt
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _imports(frame: FrameType | None) -> bool:
    """Return whether this code runs within an import."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


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
