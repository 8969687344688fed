"""Counters of the kernel's queues at a box, in the form of the gateway's status."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gamelane.lab.inside import inside
from gamelane.lab.kernel.qdiscs import Qdisc, Qdiscs
from gamelane.lab.kernel.words import DEVICES
from gamelane.lab.namespaces import Host

INNER = ("htb", "prio", "noqueue", "mq")
"""Disciplines that hold others, or nothing: their packets are counted below them."""


class Status:
    """Reads the queues of both directions when it is called. `peak_qlen` is the largest queue that it has read."""

    def __init__(self, box: Host) -> None:
        """Open a socket in the namespace of `box`."""
        with inside(box):
            self._qdiscs = Qdiscs(tuple(DEVICES.values()))
        self._peaks = dict.fromkeys(DEVICES, 0)

    def __call__(self) -> dict[str, Any]:
        """Return the counters. `flows` is missing: the kernel counts no drops by flow."""
        found = self._qdiscs.read()
        queues = {}
        for way, device in DEVICES.items():
            own = [qdisc for qdisc in found.get(device, []) if qdisc.kind not in INNER]
            queues[way] = self._queue(way, own)
        return {"queues": queues, "autorate": {}}

    def _queue(self, way: str, own: list[Qdisc]) -> dict[str, Any]:
        waiting = sum(qdisc.waiting for qdisc in own)
        self._peaks[way] = max(self._peaks[way], waiting)
        reasons: Counter[str] = Counter()
        for qdisc in own:
            reasons.update(qdisc.reasons())
        return {
            "qlen": waiting,
            "backlog": sum(qdisc.backlog for qdisc in own),
            "arrived": sum(qdisc.sent + qdisc.waiting for qdisc in own) + sum(reasons.values()),
            "drop_reasons": dict(reasons),
            "ecn_mark": sum(qdisc.marked() for qdisc in own),
            "peak_qlen": self._peaks[way],
        }
