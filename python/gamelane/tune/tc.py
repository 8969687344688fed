"""The `tc` lines a gateway of a scenario stands for on Linux.

The model's queue sits right at its link. A real gateway's queue does only if it shapes a little below the link, so the
lines shape to `SHARE` of the rate with HTB and put the discipline under it; downstream passes through an IFB device.
Options are those the scenario sets; the rest are the kernel's own, which are the model's where `parameters = "linux"`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from gamelane import _native

SHARE = 0.95
MTU = 1514
IFB = "ifb-wan"
RATE = re.compile(r"([\d.]+)(bit|kbit|mbit|gbit)")
DISCIPLINES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "codel": ("codel", {"target": "target", "interval": "interval"}),
    "fq_codel": ("fq_codel", {"target": "target", "interval": "interval", "quantum": "quantum", "flows": "flows"}),
    "pie": ("pie", {"target": "target", "update": "tupdate"}),
    "fq_pie": ("fq_pie", {"target": "target", "update": "tupdate", "quantum": "quantum", "flows": "flows"}),
}
"""For each queue its kernel discipline, and what that calls our keys."""


def lines(scenario: _native.Scenario, wan: str = "$WAN") -> list[str]:
    """Return commands for both directions, with comments where something cannot be said in `tc`."""
    document = tomllib.loads(scenario.to_toml())
    gateway, link = document["gateway"], document["link"]
    found = [f"# {wan} is the interface towards the link"]
    found += _direction("up", gateway["up"], link["up"], wan)
    found += [
        f"ip link add {IFB} type ifb && ip link set {IFB} up",
        f"tc qdisc replace dev {wan} handle ffff: ingress",
        f"tc filter replace dev {wan} parent ffff: protocol all matchall action mirred egress redirect dev {IFB}",
    ]
    return found + _direction("down", gateway["down"], link["down"], IFB)


def _direction(way: str, queue: Mapping[str, Any], rate: str, device: str) -> list[str]:
    shaped = _shaped(rate)
    found = [
        f"# {way}: {rate} link, shaped to {shaped}",
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {shaped}",
        f"tc qdisc replace dev {device} parent 1:1 handle 10: {_discipline(queue)}",
    ]
    unsaid = [key for key in queue if key not in _sayable(queue)]
    if queue.get("parameters", "linux") != "linux":
        unsaid.append("parameters")
    if unsaid:
        said = ", ".join(f"{key} = {queue[key]}" for key in dict.fromkeys(unsaid))
        found.append(f"# not in these lines: {said}")
    return found


def _sayable(queue: Mapping[str, Any]) -> set[str]:
    _, options = DISCIPLINES.get(queue.get("queue", "fifo"), ("", {}))
    return {"queue", "limit", "ecn", "parameters", *options}


def _discipline(queue: Mapping[str, Any]) -> str:
    kind = queue.get("queue", "fifo")
    limit = str(queue.get("limit", ""))
    in_bytes = not limit.endswith("p")
    if kind == "fifo":
        return f"{'bfifo' if limit and in_bytes else 'pfifo'}{f' limit {_plain(limit)}' if limit else ''}"
    if kind not in DISCIPLINES:
        return f"{kind}  # see its page under docs/models"
    name, options = DISCIPLINES[kind]
    words = [name]
    if limit:
        packets = max(1, round(int(_plain(limit)) / MTU)) if in_bytes else int(_plain(limit))
        words += ["limit", str(packets)]
    for key, option in options.items():
        if key in queue:
            words += [option, _plain(str(queue[key])) if key in ("quantum", "flows") else str(queue[key])]
    if "ecn" in queue:
        words.append("ecn" if queue["ecn"] else "noecn")
    return " ".join(words)


def _plain(text: str) -> str:
    """`1000p` is 1000, `64KiB` is 65536."""
    match = re.fullmatch(r"([\d.]+)\s*([a-zA-Z]*)", text)
    if match is None:
        return text
    factor = {"kib": 1024, "mib": 1024**2, "kb": 1000, "mb": 1000**2}.get(match[2].lower(), 1)
    return str(round(float(match[1]) * factor))


def _shaped(rate: str) -> str:
    match = RATE.fullmatch(rate)
    if match is None:
        return rate
    bits = float(match[1]) * {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[match[2]] * SHARE
    return f"{bits / 1e3:.0f}kbit"
