"""The options of a queue discipline in `tc`, and the keys that have none.

Options that a scenario does not set keep the kernel's defaults, which the model uses too if `parameters = "linux"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamelane import quantity
from gamelane.apply.plan import kind_of
from gamelane.catalogue import QUEUES

FRAME = 1514
"""Bytes of a full Ethernet frame."""
FIFO_LIMIT = "1000p"
"""Default of the model. The kernel would take the device's `txqueuelen`: 32 packets for an IFB."""
ELSEWHERE = ("queue", "parameters", "grace", "acks", "bandwidth", "overhead")
"""Keys that other lines express."""


def name_of(queue: Mapping[str, Any]) -> str:
    """Return the kernel's name of a discipline. A FIFO has one for packets and one for bytes."""
    name = QUEUES[kind_of(queue)].tc.name
    return "bfifo" if name == "pfifo" and _in_bytes(queue) else name


def options(queue: Mapping[str, Any]) -> list[str]:
    """Return the options that the scenario sets."""
    known = QUEUES[kind_of(queue)].tc.options
    found = [_option(key, option, queue[key]) for key, option in known.items() if key in queue and key != "limit"]
    if "limit" in queue or kind_of(queue) == "fifo":
        found.insert(0, _limit(queue))
    return [option for option in found if option]


def unsaid(queue: Mapping[str, Any], way: str) -> list[str]:
    """Return a sentence for each key that `tc` has no option for."""
    found = [f"`gateway.{way}.{key} = {queue[key]}` has no option in tc." for key in _without_option(queue)]
    for key, what in (("parameters", "defaults and details"), ("grace", "grace")):
        if queue.get(key, "linux") != "linux":
            found.append(f"`gateway.{way}.{key} = {queue[key]}`: Linux has its own {what}.")
    if queue.get("bandwidth") is False and kind_of(queue) == "cake":
        found.append(f"`gateway.{way}.bandwidth = false`: these lines give CAKE the rate of the shaper.")
    if _counts_packets(queue):
        found.append(f"`gateway.{way}.limit = {queue['limit']}`: {name_of(queue)} counts packets, not bytes.")
    return found


def _without_option(queue: Mapping[str, Any]) -> list[str]:
    """Return the keys that `tc` has no option for."""
    kind = kind_of(queue)
    known = (*ELSEWHERE, *QUEUES[kind].tc.options, *(("limit",) if kind == "cake" else ()))
    return [key for key in queue if key not in known]


def plain(text: Any) -> str:
    """`1000p` is 1000, `64KiB` is 65536."""
    value = quantity.magnitude(str(text))
    return str(text) if value is None else str(round(value))


def packets(limit: Any) -> int:
    """Return how many full frames are so many bytes; at least one."""
    return max(1, round(int(plain(limit)) / FRAME))


def _limit(queue: Mapping[str, Any]) -> str:
    number = plain(queue.get("limit", FIFO_LIMIT))
    if kind_of(queue) == "cake":
        return f"memlimit {number}"
    if _counts_packets(queue):
        return f"limit {packets(number)}"
    return f"limit {number}"


def _option(key: str, option: str, value: Any) -> str:
    match key:
        case "ecn":
            return option if value else f"no{option}"
        case "acks":
            return f"ack-{value}" if str(value).startswith("filter") else ""
        case "ingress":
            return "ingress" if value else "egress"
        case "wash":
            return "wash" if value else "nowash"
        case "quantum" | "flows":
            return f"{option} {plain(value)}"
        case _:
            return f"{option} {value}".strip()


def _counts_packets(queue: Mapping[str, Any]) -> bool:
    """Whether the scenario limits bytes, but the kernel's discipline limits packets."""
    return _in_bytes(queue) and kind_of(queue) not in ("fifo", "cake")


def _in_bytes(queue: Mapping[str, Any]) -> bool:
    limit = str(queue.get("limit", ""))
    return bool(limit) and not limit.endswith("p")
