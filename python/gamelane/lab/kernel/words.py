"""What a scenario becomes in the kernel: the shell lines for every namespace between home and servers. Pure.

htb holds the rate of the gateway, with the queue of the scenario below it. It lets a packet go and then waits for its
bytes, so the time to send the packet is added behind it: by netem, which also does delay, jitter and loss. netem has
namespaces of its own, because on a sender's interface it changes TCP's small queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gamelane import quantity
from gamelane.apply import htb, u32
from gamelane.apply.discipline import discipline, options
from gamelane.apply.framing import framing
from gamelane.apply.match import ACK
from gamelane.apply.plan import Lane
from gamelane.lab.plan import DIRECTIONS, Plan, each_way
from gamelane.lab.plan import Path as Way
from gamelane.lab.topology import server_address, shapes

DEVICES = {"up": "wan", "down": "lan"}
"""The interface of a gateway or modem that sends in each direction."""
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
    layer = framing(plan.link["overhead"], direction)
    rate = htb.kbit(layer.stab_rate(_bps(plan.link[direction]))) * (1 if exact else FASTER)
    loss, jitter = each_way(plan.link["loss"], "0%")[at], each_way(plan.link["jitter"], "0s")[at]
    delay_s = (_s(plan.link["delay"]), _s(jitter))
    return [_netem(device, delay_s, loss, f"rate {round(rate * 1e3)}bit", layer.stab())]


def gateway(plan: Plan, *, exact: bool) -> list[str]:
    """Return the lines for both queues of the gateway: at the rate of `shape`, or else of the link."""
    shape = shapes(plan.gateway)
    lanes = (_lane(plan, way, plan.gateway[way], shape[way] or plan.link[way]) for way in DIRECTIONS)
    return [line for lane in lanes for line in _queue(plan, lane, exact=exact)]


def modem(plan: Plan, *, exact: bool) -> list[str]:
    """Return the lines for the queues of the link behind a gateway that shapes: `gateway.modem` and `gateway.isp`."""
    shape = shapes(plan.gateway)
    queues = {"up": plan.gateway.get("modem", {}), "down": plan.gateway.get("isp", {})}
    lanes = (_lane(plan, way, queues[way], plan.link[way]) for way in DIRECTIONS if shape[way])
    return [line for lane in lanes for line in _queue(plan, lane, exact=exact)]


def _lane(plan: Plan, way: str, queue: Mapping[str, Any], rate: str) -> Lane:
    own = queue.get("bandwidth") or None
    bps = min(_bps(rate), _bps(own)) if own else _bps(rate)
    return Lane(way, queue, bps, "", framing(queue.get("overhead", plan.link["overhead"]), way))


def _queue(plan: Plan, lane: Lane, *, exact: bool) -> Iterator[str]:
    """Yield the lines of one queue at the interface that sends its packets."""
    device = DEVICES[lane.way]
    if lane.kind == "cake" and lane.queue.get("bandwidth"):
        words = [f"bandwidth {lane.kbit}kbit", lane.framing.cake(), *options(lane.queue)]
        yield f"tc qdisc replace dev {device} root handle 1: cake {' '.join(words)}"
        return
    yield from htb.shaper(lane, device, 1, burst=1 if exact else None)
    if lane.kind == "priority":
        yield from _bands(plan, lane, device)
    elif lane.kind == "cake":
        yield f"tc qdisc replace dev {device} parent 1:1 handle 10: cake unlimited {' '.join(options(lane.queue))}"
    else:
        yield f"tc qdisc replace dev {device} parent 1:1 handle 10: {discipline(lane.queue)}"


def _bands(plan: Plan, lane: Lane, device: str) -> Iterator[str]:
    """Yield strict priority: a band for the flows of `gateway.priority`, one for pure ACKs if asked for, the rest."""
    acks = lane.queue.get("acks", "plain") == "prioritise"
    bands = 3 if acks else 2
    rest = " ".join([str(bands - 1)] * 16)
    limit = discipline({"queue": "fifo", "limit": lane.queue.get("limit", htb.DEFAULT_LIMIT)})
    yield f"tc qdisc replace dev {device} parent 1:1 handle 10: prio bands {bands} priomap {rest}"
    for band in range(1, bands + 1):
        yield f"tc qdisc replace dev {device} parent 10:{band} handle 1{band}: {limit}"
    field = "dst" if lane.way == "up" else "src"
    named = plan.gateway.get("priority", [])
    selected = [(f"match ip {field} {server_address(flow)}/32", 1) for flow in plan.flows if flow.name in named]
    selected += [(each, 2) for each in u32.selectors(ACK, u32.VERSIONS[0])] if acks else []
    for number, (conditions, band) in enumerate(selected, 1):
        filters = f"tc filter add dev {device} parent 10: protocol ip prio {number}"
        yield f"{filters} u32 {conditions} flowid 10:{band}"


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


def _bps(text: Any) -> float:
    return quantity.parse(str(text), "bit/s") or 0.0


BURSTS = {"good_to_bad": "0%", "bad_to_good": "0%", "loss_bad": "100%", "loss_good": "0%"}
"""Keys of a loss in bursts and their defaults, in netem's order."""
