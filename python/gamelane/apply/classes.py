"""Writes `gateway.priority` as classes and rules, for gateways that know flows by other marks than the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamelane.apply.plan import WAYS, has_classes

HALF, APART, NONE = "49.99%", "33.33%", "0.02%"
"""Shares of HTB: without a class for ACKs, with one, and that of this class where ACKs are not apart."""

Queues = Mapping[str, Mapping[str, Any]]
"""The queue of each direction."""


def of_priority(flows: list[str], behaviours: list[str], queues: Queues) -> tuple[dict[str, Any], Queues]:
    """Return the keys `class` and `rule`, and the queues without the key `acks`, which a rule now expresses.

    `flows` and `behaviours` are what `gateway.priority` names.
    """
    prioritise = [way for way in WAYS if queues[way].get("acks") == "prioritise" and has_classes(queues[way])]
    shares = {"first": APART, "acks": APART, "rest": APART} if prioritise else {"first": HALF, "rest": HALF}
    classes = []
    for name, share in shares.items():
        alone = NONE if name == "acks" else HALF
        rate = {way: share if way in prioritise else alone for way in WAYS}
        classes.append({"name": name, "rate": rate, "priority": int(name == "rest")})
    rules: list[dict[str, Any]] = [{"class": "first", "flows": flows}] if flows else []
    rules += [{"class": "first", "behaviour": "real-time"}] if behaviours else []
    rules += [{"name": f"acks-{way}", "class": "acks", "direction": way, "ack": True} for way in prioritise]
    plain = {
        way: {key: value for key, value in queue.items() if way not in prioritise or key != "acks"}
        for way, queue in queues.items()
    }
    return {"class": classes, "rule": rules}, plain
