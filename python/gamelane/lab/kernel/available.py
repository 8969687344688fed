"""Which queue disciplines and filters a kernel has. Those of this machine are tried in a short-lived namespace."""

from __future__ import annotations

import subprocess
from functools import cache

from gamelane.catalogue import QUEUES
from gamelane.lab.kernel.words import COPY

ALWAYS = ("pfifo", "bfifo")
"""Disciplines that every kernel with traffic control has."""
NEEDED = ("htb", "netem")
"""Disciplines that every run needs."""
TRIED = (*NEEDED, *dict.fromkeys(queue.tc.name for queue in QUEUES.values() if queue.tc.name not in NEEDED))
MIRROR = f"tc qdisc add dev tried ingress && tc filter add dev tried ingress matchall {COPY} dev other"
TIMEOUT_S = 10


@cache
def here() -> tuple[str, ...]:
    """Return the disciplines of this kernel. Empty without root or `tc`. May load their modules."""
    found = _printed("".join(f"tc qdisc replace dev tried root {name} 2>/dev/null && echo {name}\n" for name in TRIED))
    return (*ALWAYS, *found) if found else ()


@cache
def _mirrors() -> bool:
    """Whether this kernel can copy packets from one interface to another."""
    return bool(_printed(f"{MIRROR} && echo yes"))


def _printed(tries: str) -> list[str]:
    """Return the words that a script prints in a namespace with the interfaces `tried` and `other`."""
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
        return []
    return done.stdout.split()


def lacking() -> str | None:
    """Return why this kernel cannot run `--engine kernel`; None if it can."""
    absent = [f"sch_{name}" for name in NEEDED if name not in here()]
    if not _mirrors():
        absent.append("cls_matchall with act_mirred and act_pedit")
    if not absent:
        return None
    return f"this kernel has no {' and no '.join(absent)}\n  hint:    add --vm: then it runs in a guest"
