"""The engines with real hosts, by the words of `--engine`."""

from __future__ import annotations

from collections.abc import Sequence

from gamelane.lab.kernel.between import Kernel
from gamelane.lab.ours import Ours
from gamelane.lab.topology import Between

KERNEL = "kernel"


def between(engine: str, *, exact: bool = False, queues: Sequence[str] | None = None) -> Between:
    """Return what an engine has between home and servers.

    With `exact`, timers are never late: time is virtual. `queues` are the disciplines of a guest's kernel.
    """
    return Kernel(exact, None if queues is None else tuple(queues)) if engine == KERNEL else Ours()
