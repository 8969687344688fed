"""Ctrl-C as a wish that is heard, instead of an exception that may come anywhere and be lost there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_ctrl_c(heard: Callable[[], None]) -> Iterator[None]:
    """Call `heard` at every Ctrl-C of the block. Threads other than the main one cannot listen."""
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
