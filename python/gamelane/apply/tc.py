"""The lines of `tc` and `nft` for a gateway that runs Linux: those of `gamelane gateway run --engine kernel --dry-run`.

They name no interface and no port, but variables of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gamelane import _native, toml
from gamelane.apply import classes, match
from gamelane.apply.match import FLOW
from gamelane.apply.plan import WAYS, Lane, Plan, has_classes
from gamelane.apply.recipe import Recipe
from gamelane.catalogue import APPS

TARGET = "tc"
WAN, LAN, IFB = "$WAN", "$LAN", "gl-$WAN"
ELSEWHERE_BPS = 1e10
"""Rate of the link in a direction that the lines leave alone."""
UNDO = (
    *(f"tc qdisc del dev {device} root handle 6a0: 2>/dev/null" for device in (WAN, LAN)),
    f"tc qdisc del dev {WAN} ingress 2>/dev/null",
    f"ip link del {IFB} 2>/dev/null",
    "nft delete table inet gamelane 2>/dev/null",
)
"""Ends what any recipe of this target sets up, but for the offloads that some switch off."""

Table = dict[str, Any]


def recipe(plan: Plan) -> Recipe:
    """Return the commands for root on the gateway."""
    if plan.refused:
        return Recipe(TARGET, unsaid=plan.refused)
    lacking = [*plan.unsaid, *plan.elsewhere]
    queues = {lane.way: _queue(lane, lacking) for lane in plan.lanes}
    own: Table = {}
    flows: Mapping[str, str] = {}
    if any(map(has_classes, queues.values())):
        own, queues, said = _classes(plan, queues)
        lacking += said
        if not _are_filled(own):
            return Recipe(TARGET, unsaid=tuple(lacking))
        flows = _name(own["rule"])
    lines, joins, more = _lines(plan, own, queues)
    lacking = list(dict.fromkeys([*lacking, *more]))
    if not lines:
        return Recipe(TARGET, unsaid=tuple(lacking))
    offloads = "for dev in $WAN $LAN; do ethtool -K $dev gro {0} gso {0} tso {0}; done"
    if joins:
        apart = "# Let no packets be joined: a queue would count and send them as one."
        lines = [apart, offloads.format("off"), "", *lines]
    lines = list(_with_ports(lines, flows))
    ports = [flow for flow in plan.flows if any(f"${match.variable(flow['name'])} " in line for line in lines)]
    return Recipe(
        TARGET,
        (
            "WAN=eth0  # the interface towards the modem",
            "LAN=eth1  # the interface towards the home; its bridge, if it has one",
            *map(_port, ports),
        ),
        (*UNDO, offloads.format("on")) if joins else UNDO,
        (*(f"# {lane.way}: {lane.kbit} kbit/s, {lane.why}" for lane in plan.lanes), *lines),
        tuple(lacking),
    )


def _queue(lane: Lane, lacking: list[str]) -> Table:
    """Return a queue without what the shaper takes over. What Linux cannot do of it is added to `lacking`."""
    queue = {key: value for key, value in lane.queue.items() if key != "bandwidth" or value is False}
    if has_classes(queue) and str(queue.get("acks")).startswith("filter"):
        lacking.append(
            f"`gateway.{lane.way}.acks = {queue['acks']}`: in Linux only CAKE filters ACKs; here they get a class."
        )
        queue["acks"] = "prioritise"
    return queue


def _classes(plan: Plan, queues: classes.Queues) -> tuple[Table, dict[str, Table], list[str]]:
    """Return `class` and `rule` for a real network, the queues, and what cannot be said there."""
    if "class" in plan.gateway:
        own = {"class": plan.gateway["class"], "rule": plan.gateway.get("rule", [])}
    else:
        both = {way: queues.get(way, {}) for way in WAYS}
        own, plain = classes.of_priority(plan.gateway.get("priority", []), [], both)
        queues = {way: plain[way] for way in queues}
    each = [match.of_rule(plan, rule) for rule in own["rule"]]
    rules = [dict(rule) for matches in each for rule in matches.found]
    lacking = [why for matches in each for why in matches.unsaid]
    return {**own, "rule": rules}, {way: dict(queue) for way, queue in queues.items()}, lacking


def _are_filled(own: Table) -> bool:
    """Whether each class but the last has a rule. Only leaves can have one."""
    parents = {each.get("parent") for each in own["class"]}
    leaves = [each["name"] for each in own["class"] if each["name"] not in parents]
    return set(leaves[:-1]) <= {rule["class"] for rule in own["rule"]}


def _name(rules: Sequence[Table]) -> dict[str, str]:
    """Give each rule of a flow a name of its own. Return the flows by these names."""
    taken = {rule["name"] for rule in rules if "name" in rule}
    flows: dict[str, str] = {}
    for rule in rules:
        if flow := rule.pop(FLOW, None):
            name = f"{flow}-{rule['direction']}"
            while name in taken:
                name += "-"
            taken.add(name)
            rule["name"] = name
            flows[name] = flow
    return flows


def _lines(plan: Plan, own: Table, queues: dict[str, Table]) -> tuple[list[str], bool, list[str]]:
    """Return the lines, whether joined packets hurt, and the options that Linux has not, which the lines leave out."""
    lacking: list[str] = []
    while True:
        policy = _policy(plan, own, queues)
        lines, joins, refused = _native.kernel_lines(policy, "the policy of the lines", [LAN, WAN], list(queues))
        if refused is None:
            return lines, joins, lacking
        key, why, _ = refused
        _, way, option, *_ = [*key.split("."), ""]
        value = queues.get(way, {}).pop(option, None)
        lacking.append(f"`{key}`: {why}." if value is None else f"`{key} = {value}`: {why}.")
        if value is None:
            return [], False, lacking


def _policy(plan: Plan, own: Table, queues: Mapping[str, Table]) -> str:
    rates = {lane.way: f"{lane.kbit}kbit" for lane in plan.lanes}
    both = {way: rates.get(way, f"{ELSEWHERE_BPS:.0f}bit") for way in WAYS}
    link = {**both, "overhead": plan.overhead, "mtu": plan.mtu}
    gateway = {**own, **queues, "shape": rates}
    return toml.lines({"name": plan.document["name"], "link": link, "gateway": gateway})


def _with_ports(lines: Sequence[str], flows: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines with a variable for the port of each flow's server. The lines below a rule's name are its own."""
    flow = None
    for line in lines:
        if "# rule: " in line:
            flow = flows.get(line.partition("# rule: ")[2])
        own = line if flow is None else re.sub(r"port \d+ ", f"port ${match.variable(flow)} ", line)
        # The shell writes the variables into the table.
        yield own.replace("<<'END'", "<<END")


def _port(flow: Mapping[str, Any]) -> str:
    app = APPS[flow["app"]]
    name, of = flow["name"], f"{app.transport.upper()} port of the server"
    return f"{match.variable(name)}={app.server_port}  # {of} of {name}"
