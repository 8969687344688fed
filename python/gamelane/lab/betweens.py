"""The engines with real hosts, by the words of `--engine`."""

from __future__ import annotations

from gamelane.lab.kernel.available import Available
from gamelane.lab.kernel.between import Kernel
from gamelane.lab.ours import Ours
from gamelane.lab.topology import Between

KERNEL = "kernel"


def between(engine: str, *, exact: bool = False, available: Available | None = None) -> Between:
    """Return what an engine has between home and servers.

    With `exact`, timers are never late: time is virtual. `available` is what a guest's kernel has.
    """
    return Kernel(exact, available) if engine == KERNEL else Ours()
