"""Moves a thread into the network namespace of a host. Sockets that it opens there stay in that namespace."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gamelane.lab.namespaces import Host


@contextmanager
def inside(host: Host) -> Iterator[None]:
    """Move the calling thread, and no other, into the network namespace of `host` during the block."""
    with Path("/proc/thread-self/ns/net").open() as home, Path(f"/proc/{host.pid}/ns/net").open() as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(namespace: int) -> None:
    """Enter a namespace through libc: `os.setns` needs Python 3.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter a network namespace: {os.strerror(number)}")


CLONE_NEWNET = 0x40000000
