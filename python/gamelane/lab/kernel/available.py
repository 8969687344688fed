"""Which queue disciplines a kernel has. Those of this machine are tried in a namespace that ends at once."""

from __future__ import annotations

import subprocess
from functools import cache

from gamelane.catalogue import QUEUES

ALWAYS = ("pfifo", "bfifo")
"""Disciplines that every kernel with traffic control has."""
NEEDED = ("htb", "netem")
"""Disciplines that every run needs."""
TRIED = (*NEEDED, *dict.fromkeys(queue.tc.name for queue in QUEUES.values() if queue.tc.name not in NEEDED))
TIMEOUT_S = 10


@cache
def here() -> tuple[str, ...]:
    """Return the disciplines of this kernel. Empty without root or `tc`. May load their modules."""
    tries = "".join(f"tc qdisc replace dev tried root {name} 2>/dev/null && echo {name}\n" for name in TRIED)
    script = f"ip link add tried type veth peer name other || exit\n{tries}"
    try:
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = done.stdout.split()
    return (*ALWAYS, *found) if found else ()


def lacking() -> str | None:
    """Return why this kernel cannot run `--engine kernel`; None if it can."""
    absent = [name for name in NEEDED if name not in here()]
    if not absent:
        return None
    modules = " and no ".join(f"sch_{name}" for name in absent)
    return f"this kernel has no {modules}\n  hint:    add --vm: then it runs in a guest"
