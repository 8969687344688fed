"""The engines with real hosts, by the words of `--engine`."""

from __future__ import annotations

from gamelane.lab.kernel.between import Kernel
from gamelane.lab.ours import Ours
from gamelane.lab.topology import Between

KERNEL = "kernel"


def between(engine: str, *, exact: bool = False) -> Between:
    """Return what an engine has between home and servers. With `exact`, timers are never late: time is virtual."""
    return Kernel(exact=exact) if engine == KERNEL else Ours()
