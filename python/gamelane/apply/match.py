"""Rewrites rules for a real network: conditions that can be tested in one packet of it.

A flow of the scenario has made-up addresses. So here it is known by the port of its server, or by its code point if
many applications share that port. Conditions on addresses and on behaviour have no counterpart here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gamelane.apply.plan import Plan
from gamelane.catalogue import APPS

SHARED_PORTS = ("transfer", "web", "video")
"""Groups of applications whose server port says nothing: half the internet is on TCP port 443."""
PORTS = ("port", "source_port", "destination_port")
ADDRESSES = ("source", "destination", "address")
HIDDEN = ("rate", "gap_deviation", "behaviour")
"""Conditions on the past of a flow."""
FLOW, END = "flow", "end"
"""Keys of a rule whose port is that of a flow's server: its name, and `s` or `d`. Scenarios have no such keys."""


@dataclass(frozen=True)
class Matches:
    """Rules, and why there are none. Those of a flow known by its port have its name under `FLOW`."""

    found: tuple[Mapping[str, Any], ...] = ()
    unsaid: tuple[str, ...] = ()


def variable(flow: str) -> str:
    """Return the shell variable that holds the port of a flow's server."""
    return "PORT_" + re.sub(r"[^A-Z0-9]", "_", flow.upper())


def of_rule(plan: Plan, rule: Mapping[str, Any]) -> Matches:
    """Return the rules that stand for a `[[gateway.rule]]`."""
    name = f"rule `{rule['name']}`" if "name" in rule else f"a rule for class `{rule['class']}`"
    if made_up := [key for key in ADDRESSES if key in rule]:
        return Matches(unsaid=(f"{name}: `{made_up[0]}` is an address of the scenario, not of your network.",))
    if hidden := [key for key in HIDDEN if key in rule] + ["ack = false"] * (rule.get("ack") is False):
        return Matches(unsaid=(f"{name}: nft and tc cannot test `{hidden[0]}`.",))
    if "flows" not in rule:
        return Matches((rule,))
    own = {key: value for key, value in rule.items() if key not in ("flows", "name")}
    if twice := [key for key in (*PORTS, "dscp") if key in own]:
        return Matches(unsaid=(f"{name}: the lines know a flow by port or `dscp`, so they leave no `{twice[0]}`.",))
    each = [_of_flow(plan, flow, rule["flows"]) for flow in rule["flows"]]
    found = tuple({**own, **known} for matches in each for known in matches.found if _meet(own, known))
    return Matches(found, tuple(why for matches in each for why in matches.unsaid))


def _meet(rule: Mapping[str, Any], flow: Mapping[str, Any]) -> bool:
    """Whether both are for one direction and protocol."""
    return all(rule[key] == flow[key] for key in ("direction", "protocol") if key in rule and key in flow)


def _of_flow(plan: Plan, name: str, together: list[str]) -> Matches:
    """Return what tells a flow from all flows but those in `together`, which are in the same class."""
    flow = next((flow for flow in plan.flows if flow["name"] == name), None)
    if flow is None:
        return Matches(unsaid=(f"`{name}` stands for behaviour, which nft and tc cannot test.",))
    app = APPS[flow["app"]]
    if app.group in SHARED_PORTS:
        if flow.get("dscp", "CS0") == "CS0":
            return Matches(unsaid=(f"nothing tells `{name}` from other traffic: it has no port or `dscp` of its own.",))
        return Matches(({"protocol": app.transport, "dscp": flow["dscp"]},))
    first = next(other for other in plan.flows if other["name"] in together and _server(other) == _server(flow))
    if first is not flow:
        return Matches()
    same = [other["name"] for other in plan.flows if other["name"] not in together and _server(other) == _server(flow)]
    if same:
        also = ", ".join(f"`{each}`" for each in same)
        return Matches(unsaid=(f"`{name}` has the same server port as {also}: the lines cannot tell them apart.",))
    ends = ("source_port", "destination_port")
    ways = ("down", "up") if flow.get("role") != "host" else ("up", "down")
    port = str(app.server_port)
    return Matches(
        tuple(
            {FLOW: name, END: end[0], "protocol": app.transport, "direction": way, end: port}
            for way, end in zip(ways, ends, strict=True)
        )
    )


def _server(flow: Mapping[str, Any]) -> tuple[str, int, bool]:
    app = APPS[flow["app"]]
    return app.transport, app.server_port, flow.get("role") == "host"
