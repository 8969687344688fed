"""Which packets go to which class: conditions that can be tested in one packet of a real network.

A flow of the scenario has made-up addresses. So here it is known by the port of its server, or by its code point if
many applications share that port. Conditions on addresses and on behaviour have no counterpart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gamelane import quantity
from gamelane.apply.plan import Plan
from gamelane.catalogue import APPS

SHARED_PORTS = ("transfer", "web", "video")
"""Groups of applications whose server port says nothing: half the internet is on TCP port 443."""
ADDRESSES = ("source", "destination", "address")
HIDDEN = ("rate", "gap_deviation", "behaviour")
"""Conditions on the past of a flow."""

Span = tuple[int, int]
Ports = Span | str
"""A range of ports, or a variable of the shell that holds one port."""


@dataclass(frozen=True)
class Match:
    """Conditions on a packet; None is no condition."""

    protocol: str | None = None
    source: Ports | None = None
    destination: Ports | None = None
    dscp: Span | None = None
    size: Span | None = None
    """Bytes of the IP packet, as IPv4 counts them."""
    ack: bool = False
    """A pure TCP ACK."""


ACK = Match(protocol="tcp", ack=True)
LONGEST_ACK = {"ip": 127, "ip6": 63}
"""Greatest value in the packet's field of length, which leaves out the IPv6 header. A longer packet must hold data: a
TCP header has at most 60 B. A shorter one may hold data, too. `u32` compares the bits above these values."""
IPV6_HEADER = 40


@dataclass(frozen=True)
class Matches:
    """The matches of one flow or rule, and why there are none."""

    found: tuple[Match, ...] = ()
    unsaid: str | None = None


def variable(flow: str) -> str:
    """Return the shell variable that holds the port of a flow's server."""
    return "PORT_" + re.sub(r"[^A-Z0-9]", "_", flow.upper())


def of_flow(plan: Plan, name: str, together: list[str], way: str) -> Matches:
    """Return what tells a flow from all flows but those in `together`, which are in the same class."""
    flow = next((flow for flow in plan.flows if flow["name"] == name), None)
    if flow is None:
        return Matches(unsaid=f"`{name}` stands for behaviour, which nft and tc cannot test.")
    app = APPS[flow["app"]]
    if app.group in SHARED_PORTS:
        if flow.get("dscp", "CS0") == "CS0":
            return Matches(unsaid=f"nothing tells `{name}` from other traffic: it has no port or `dscp` of its own.")
        return Matches((Match(app.transport, dscp=_span(flow["dscp"], code_point)),))
    first = next(other for other in plan.flows if other["name"] in together and _server(other) == _server(flow))
    if first is not flow:
        return Matches()
    same = [other["name"] for other in plan.flows if other["name"] not in together and _server(other) == _server(flow)]
    if same:
        also = ", ".join(f"`{each}`" for each in same)
        return Matches(unsaid=f"`{name}` has the same server port as {also}: the lines cannot tell them apart.")
    port = f"${variable(name)}"
    if (way == "up") == (flow.get("role") != "host"):
        return Matches((Match(app.transport, destination=port),))
    return Matches((Match(app.transport, source=port),))


def of_rule(plan: Plan, rule: Mapping[str, Any], way: str) -> Iterator[Matches]:
    """Return what a `[[gateway.rule]]` selects in one direction."""
    if rule.get("direction", way) != way:
        return
    name = f"rule `{rule['name']}`" if "name" in rule else f"a rule for class `{rule['class']}`"
    if made_up := [key for key in ADDRESSES if key in rule]:
        yield Matches(unsaid=f"{name}: `{made_up[0]}` is an address of the scenario, not of your network.")
        return
    if hidden := [key for key in HIDDEN if key in rule] + ["ack = false"] * (rule.get("ack") is False):
        yield Matches(unsaid=f"{name}: nft and tc cannot test `{hidden[0]}`.")
        return
    own = Match(
        rule.get("protocol"),
        _span(rule.get("source_port")),
        _span(rule.get("destination_port")),
        _span(rule.get("dscp"), code_point),
        _span(rule.get("size"), _bytes, 65535),
        bool(rule.get("ack")),
    )
    either = _span(rule.get("port"))
    each = [own] if either is None else [_both(own, Match(source=either)), _both(own, Match(destination=either))]
    flows = rule.get("flows")
    if flows is None:
        yield Matches(tuple(each))
        return
    for flow in flows:
        known = of_flow(plan, flow, flows, way)
        joined = tuple(_both(match, condition) for match in known.found for condition in each)
        yield Matches(joined, known.unsaid)


def code_point(word: str) -> int:
    """Read a DSCP: a number, or a name such as EF."""
    names = {"EF": 46, "VA": 44, "LE": 1}
    if word in names:
        return names[word]
    if word.startswith("CS"):
        return 8 * int(word[2:])
    if word.startswith("AF"):
        return 8 * int(word[2]) + 2 * int(word[3])
    return int(word)


def _server(flow: Mapping[str, Any]) -> tuple[str, int, bool]:
    app = APPS[flow["app"]]
    return app.transport, app.server_port, flow.get("role") == "host"


def _both(one: Match, other: Match) -> Match:
    """Return the conditions of both. A condition of `one` stays if both have it."""
    set_by_one = {key: value for key, value in vars(one).items() if value is not None and value is not False}
    return replace(other, **set_by_one)


def _span(written: Any, read: Any = int, highest: int = 65535) -> Span | None:
    if written is None:
        return None
    low, dots, high = str(written).partition("..")
    first = read(low) if low else 0
    return first, (read(high) if high else highest) if dots else first


def _bytes(text: str) -> int:
    return round(quantity.magnitude(text) or 0)
