"""What link and paths become in the kernel: the shell lines for their namespaces. Pure.

The gateway's shaper lets a packet go and then waits for its bytes. So the time to send the packet is added behind it:
by netem, which also does delay, jitter and loss. netem has namespaces of its own, because on a sender's interface it
changes TCP's small queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamelane import _native, quantity, toml
from gamelane.lab.plan import DIRECTIONS, Plan, each_way
from gamelane.lab.plan import Path as Way

FASTER = 1.02
"""Rate of the link behind the gateway's queue, if timers may be late. The backlog of a late packet can then drain."""
DATA = 56
"""Offset of a byte behind the headers of a packet, in steps of 4."""
ENDLESS = 100_000
"""Packets that netem may hold: more than any delay needs."""
IN_ORDER = "1000gbit"
"""Rate of a path with jitter. netem keeps packets in order only if it has a rate."""
COPY = f"action pedit munge offset {DATA} u8 preserve pipe action mirred egress mirror"
"""Sends copies. `pedit` changes nothing, but it makes the bytes of the packet its own (`skb_ensure_writable`)."""


def path(way: Way) -> list[str]:
    """Return the lines of a path between `near` and `far`: half the round trip each way, loss and jitter.

    Packets cross the path as copies (`COPY`). Linux never sends a segment again while its own packet is still in a
    queue of the same kernel (`skb_still_in_host_queue`), and netem is such a queue. A retransmission takes no segment
    along whose bytes a packet still holds (`tcp_can_collapse`). The originals end here: this host has no address.
    """
    found = []
    for device, other in (("far", "near"), ("near", "far")):
        found += [
            f"tc qdisc add dev {device} ingress",
            f"tc filter add dev {device} ingress matchall {COPY} dev {other}",
        ]
    for device, loss, jitter in zip(("far", "near"), each_way(way.loss, "0%"), each_way(way.jitter, "0s"), strict=True):
        order = f"rate {IN_ORDER}" if _s(jitter) else ""
        found.append(_netem(device, (way.rtt_s / 2, _s(jitter)), loss, order))
    return found


def link(plan: Plan, direction: str, device: str, *, exact: bool) -> list[str]:
    """Return the lines of one direction of the link: time to send each packet, delay, jitter and loss.

    With `exact`, timers are never late, so the link has the rate of the gateway's shaper.
    """
    at = DIRECTIONS.index(direction)
    size_table, bps = _native.size_table(toml.lines(plan.link), direction)
    rate = bps * (1 if exact else FASTER)
    loss, jitter = each_way(plan.link["loss"], "0%")[at], each_way(plan.link["jitter"], "0s")[at]
    delay_s = (_s(plan.link["delay"]), _s(jitter))
    return [_netem(device, delay_s, loss, f"rate {round(rate)}bit", size_table.strip())]


def _netem(device: str, delay_s: tuple[float, float], loss: Any, rate: str, size_table: str = "") -> str:
    """Write netem. `delay_s` is delay and jitter: a scenario adds its jitter, netem spreads it to both sides."""
    half = delay_s[1] / 2
    middle = delay_s[0] + half
    delay = f"delay {_us(middle)}" + (f" {_us(half)}" if half else "") if middle else ""
    words = ["root", size_table, f"netem limit {ENDLESS}", delay, _loss(loss), rate]
    return f"tc qdisc replace dev {device} {' '.join(word for word in words if word)}"


def _loss(loss: Any) -> str:
    if isinstance(loss, Mapping):
        share = {key: _percent(loss.get(key, value)) for key, value in BURSTS.items()}
        return "loss gemodel " + " ".join(f"{share[key]:g}%" for key in BURSTS)
    return f"loss random {_percent(loss):g}%" if _percent(loss) else ""


def _percent(text: str) -> float:
    return quantity.parse(text, "%") or 0.0


def _s(text: str) -> float:
    return (quantity.parse(text, "ms") or 0.0) / 1e3


def _us(at_s: float) -> str:
    return f"{at_s * 1e6:.3f}us"


BURSTS = {"good_to_bad": "0%", "bad_to_good": "0%", "loss_bad": "100%", "loss_good": "0%"}
"""Keys of a loss in bursts and their defaults, in netem's order."""
