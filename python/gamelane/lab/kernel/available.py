"""What a kernel has for this engine. On this machine, a short-lived namespace tries each queue."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gamelane.catalogue import QUEUES
from gamelane.lab.kernel.words import COPY

ALWAYS = ("pfifo", "bfifo")
"""Disciplines that every kernel with traffic control has."""
NEEDED = ("htb", "netem")
"""Disciplines that every run needs."""
TRIED = (*NEEDED, *dict.fromkeys(queue.tc for queue in QUEUES.values() if queue.tc not in NEEDED))
MIRROR = f"tc qdisc add dev tried ingress && tc filter add dev tried ingress matchall {COPY} dev other"
TIMEOUT_S = 10
TYPES = Path("/sys/kernel/btf/vmlinux")
"""The types of this kernel (CONFIG_DEBUG_INFO_BTF). The gateway needs them to see packets (crates/live)."""


@dataclass(frozen=True)
class Available:
    """What a kernel has."""

    queues: tuple[str, ...]
    """Its queue disciplines; empty if unknown."""
    shows_packets: bool
    """Whether a gateway sees single packets there. It needs them to know a game by its behaviour, and for autorate."""


@cache
def here() -> Available:
    """Return what this kernel has. Without root or `tc` there are no queues. May load their modules."""
    found = _printed("".join(f"tc qdisc replace dev tried root {name} 2>/dev/null && echo {name}\n" for name in TRIED))
    return Available((*ALWAYS, *found) if found else (), TYPES.exists())


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
    absent = [f"sch_{name}" for name in NEEDED if name not in here().queues]
    if not _mirrors():
        absent.append("cls_matchall with act_mirred and act_pedit")
    if not absent:
        return None
    return f"this kernel has no {' and no '.join(absent)}\n  hint:    add --vm: then it runs in a guest"
