"""Handles Ctrl-C by a callback instead of an exception, which could be raised anywhere and be lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_ctrl_c(heard: Callable[[], None]) -> Iterator[None]:
    """Call `heard` at every Ctrl-C within the block. Works in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(_number: int, _frame: FrameType | None) -> None:
        heard()

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
