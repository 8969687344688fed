"""Prints the `tc` commands for a scenario's gateway on Linux, with comments for what `tc` cannot do.

In the model the queue builds up at the gateway. On a real gateway it does so only if the gateway shapes to a rate below
the link's. The commands therefore shape to `gateway.shape`, or else to `SHARE` of the link's rate. They use HTB or
CAKE's shaper, with the queue discipline below it. Downstream traffic passes through an IFB device. On Wi-Fi the radio
schedules packets, so nothing is shaped. Options that the scenario does not set keep the kernel's defaults, which the
model uses too if `parameters = "linux"`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from gamelane import _native, quantity
from gamelane.catalogue import QUEUES

SHARE = 0.95
MTU = 1514
IFB = "ifb-wan"
PURE_ACK = "u32 match ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33"
"""Matches TCP over IPv4 without IP options, shorter than 64 bytes, with only the ACK flag set."""


def lines(scenario: _native.Scenario, wan: str = "$WAN") -> list[str]:
    """Return commands for both directions, with comments for what `tc` cannot express."""
    document = tomllib.loads(scenario.to_toml())
    gateway, link = document["gateway"], document["link"]
    first = gateway.get("priority", [])
    if link["kind"] == "wifi-g":
        found = [
            "# the access point's radio schedules packets, so nothing is shaped",
            "# $RADIO is the access point's wireless interface",
        ]
        found += _queue("$RADIO", "root", gateway["down"], first, port="sport")
    else:
        found = [f"# {wan} is the interface towards the link"]
        found += _shaped("up", gateway, link, wan)
        found += [
            f"ip link add {IFB} type ifb && ip link set {IFB} up",
            f"tc qdisc replace dev {wan} handle ffff: ingress",
            f"tc filter replace dev {wan} parent ffff: protocol all matchall action mirred egress redirect dev {IFB}",
        ]
        found += _shaped("down", gateway, link, IFB)
    return [*found, *_voap(gateway)]


def _voap(gateway: Mapping[str, Any]) -> list[str]:
    """Explain what to do about VoAP, which no kernel has."""
    voap = gateway.get("voap")
    if not voap:
        return []
    keys = (
        ", ".join(f"{key} = {value}" for key, value in voap.items())
        if isinstance(voap, Mapping)
        else "default parameters"
    )
    return [
        f"# VoAP ({keys}) is not in Linux: tc cannot lower TCP windows.",
        "# Use `gamelane gateway` instead of these commands, or search without VoAP: `--keep gateway.voap`.",
    ]


def _shaped(way: str, gateway: Mapping[str, Any], link: Mapping[str, Any], device: str) -> list[str]:
    """Return the commands of one direction below a shaper, and a comment with the keys they leave out."""
    queue, rate = gateway[way], link.get(way)
    shape = gateway.get("shape") or {}
    own = shape.get(way) if isinstance(shape, Mapping) else shape
    bits = quantity.parse(own or rate or "", "bit/s")
    to = f"${way.upper()}_RATE" if bits is None else f"{bits * (1 if own else SHARE) / 1e3:.0f}kbit"
    found = [f"# {way}: {rate or 'the rate of this link varies: choose one below its lowest'}, shaped to {to}"]
    if _kind(queue) == "cake":
        found.append(f"tc qdisc replace dev {device} root {_discipline(queue, 'bandwidth', to)}")
        return found + _unsaid(queue)
    found += [
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {to}",
    ]
    port = "dport" if way == "up" else "sport"
    return found + _queue(device, "parent 1:1", queue, gateway.get("priority", []), port=port)


def _queue(device: str, place: str, queue: Mapping[str, Any], first: list[str], *, port: str) -> list[str]:
    kind = _kind(queue)
    if kind == "priority":
        return _priority(device, place, queue, first, port)
    if QUEUES[kind].isolates == "classes":
        named = ", ".join(first) or "each class"
        return [
            f"# {kind}: a {kind} qdisc at {place} of {device} with a class for {named} and one for the rest;",
            f"# docs/models/{kind}.md lists the parameters of each class",
        ]
    if kind == "cake":
        return [f"tc qdisc replace dev {device} {place} {_discipline(queue, 'unlimited')}", *_unsaid(queue)]
    return [f"tc qdisc replace dev {device} {place} handle 10: {_discipline(queue)}", *_unsaid(queue)]


def _priority(device: str, place: str, queue: Mapping[str, Any], first: list[str], port: str) -> list[str]:
    acks = queue.get("acks", "plain")
    bands = 3 if acks == "prioritise" else 2
    found = [f"tc qdisc replace dev {device} {place} handle 10: prio bands {bands} priomap{f' {bands - 1}' * 16}"]
    limit = str(queue.get("limit", "50p"))
    fifo = f"{'pfifo' if limit.endswith('p') else 'bfifo'} limit {_plain(limit)}"
    found += [f"tc qdisc replace dev {device} parent 10:{band} {fifo}" for band in range(1, bands + 1)]
    for name in first:
        found += [
            f"# $PORT is the port of the server of {name}",
            f"tc filter add dev {device} parent 10: protocol ip prio 1 u32 match ip {port} $PORT 0xffff flowid 10:1",
        ]
    if acks == "prioritise":
        found.append(f"tc filter add dev {device} parent 10: protocol ip prio 2 {PURE_ACK} flowid 10:2")
    elif acks != "plain":
        found.append(f"# acks = {acks}: only CAKE filters ACKs in Linux")
    return found


def _discipline(queue: Mapping[str, Any], *more: str) -> str:
    """Return the discipline with its options; `more` follows its name."""
    tc = QUEUES[_kind(queue)].tc
    limit = str(queue.get("limit", ""))
    name = "bfifo" if tc.name == "pfifo" and limit and not limit.endswith("p") else tc.name
    said = [_option(key, option, queue[key], name) for key, option in tc.options.items() if key in queue]
    return " ".join([name, *more, *filter(None, said)])


def _option(key: str, option: str, value: Any, name: str) -> str:
    match key:
        case "ecn":
            return option if value else f"no{option}"
        case "acks":
            return f"ack-{value}" if _filters(value) else ""
        case "limit" if name != "bfifo" and not str(value).endswith("p"):
            return f"{option} {max(1, round(int(_plain(value)) / MTU))}"
        case "limit" | "quantum" | "flows":
            return f"{option} {_plain(value)}"
        case _:
            return f"{option} {value}".strip()


def _unsaid(queue: Mapping[str, Any]) -> list[str]:
    """Return a comment with the keys that the commands leave out."""
    unsaid = [key for key in queue if key not in ("queue", "parameters", "acks", *QUEUES[_kind(queue)].tc.options)]
    if queue.get("parameters", "linux") != "linux":
        unsaid.append("parameters")
    if queue.get("acks", "plain") != "plain" and not _filters(queue["acks"]):
        unsaid.append("acks")
    said = ", ".join(f"{key} = {queue[key]}" for key in unsaid)
    return [f"# not included in these commands: {said}"] if said else []


def _kind(queue: Mapping[str, Any]) -> str:
    return str(queue.get("queue", "fifo"))


def _filters(acks: str) -> bool:
    return acks.startswith("filter")


def _plain(text: Any) -> str:
    """`1000p` is 1000, `64KiB` is 65536."""
    value = quantity.magnitude(str(text))
    return str(text) if value is None else str(round(value))
