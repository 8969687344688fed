"""The lines of `tc` and `nft` for a gateway that runs Linux: those of `gamelane gateway run --engine kernel --dry-run`.

They name no interface and no port, but variables of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gamelane import _native, toml
from gamelane.apply import classes, discipline, match
from gamelane.apply.match import END, FLOW
from gamelane.apply.plan import WAYS, Lane, Plan, has_classes
from gamelane.apply.recipe import Recipe
from gamelane.catalogue import APPS
from gamelane.errors import ScenarioError

TARGET = "tc"
INTERFACES = ("$LAN", "$WAN", "$IFB")
EDIT = (
    "WAN=eth0  # the interface towards the modem",
    "LAN=eth1  # the interface towards the home; its bridge, if it has one",
    'IFB=$(printf %.15s "gl-$WAN")',
)
ALL = 'ALL="$WAN $LAN $(cd /sys/class/net && ls -d $WAN/lower_* $LAN/lower_* 2>/dev/null | sed s/.*lower_//)"'
"""Both interfaces and those below them, such as the ports of a bridge."""
OFFLOADS = "for dev in $ALL; do ethtool -K $dev gro {0} gso {0} tso {0}; done"
ELSEWHERE_BPS = 1e10
"""Rate of the link in a direction that the lines leave alone."""

Table = dict[str, Any]


def recipe(plan: Plan) -> Recipe:
    """Return the commands for root on the gateway."""
    if plan.refused:
        return Recipe(TARGET, unsaid=plan.refused)
    lacking = [*plan.unsaid, *plan.elsewhere]
    queues = {lane.way: _queue(lane, lacking) for lane in plan.lanes}
    own: Table = {}
    flows: Mapping[str, tuple[str, str]] = {}
    if any(map(has_classes, queues.values())) and (plan.gateway.get("priority") or "class" in plan.gateway):
        own, queues, said = _classes(plan, queues)
        lacking += said
        if empty := _empty(own):
            return Recipe(TARGET, unsaid=(*lacking, *(f"class `{name}` would get no packet." for name in empty)))
        flows = _name(own["rule"])
    (undo, apply, joins), more = _lines(plan, own, queues)
    lacking = list(dict.fromkeys([*lacking, *more]))
    if not apply:
        return Recipe(TARGET, unsaid=tuple(lacking))
    if joins:
        apart = "# Let no packets be joined: a queue would count and send them as one."
        apply = [apart, OFFLOADS.format("off"), "", *apply]
        undo = [*undo, OFFLOADS.format("on")]
    apply = list(_with_ports(apply, flows))
    ports = [flow for flow in plan.flows if any(f"${match.variable(flow['name'])} " in line for line in apply)]
    rates = (f"# {lane.way}: {lane.kbit} kbit/s, {lane.why}" for lane in plan.lanes)
    edit = (*EDIT, *([ALL] if joins else []), *map(_port, ports))
    return Recipe(TARGET, edit, tuple(undo), (*rates, *apply), tuple(lacking))


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
        own = {"class": [dict(each) for each in plan.gateway["class"]], "rule": plan.gateway.get("rule", [])}
    else:
        both = {way: queues.get(way, {}) for way in WAYS}
        own, plain = classes.of_priority(plan.gateway["priority"], [], both)
        queues = {way: plain[way] for way in queues}
    each = [match.of_rule(plan, rule) for rule in own["rule"]]
    rules: list[Table] = []
    for rule in (dict(rule) for matches in each for rule in matches.found):
        if {**rule, "name": ""} not in [{**other, "name": ""} for other in rules]:
            rules.append(rule)
    lacking = [why for matches in each for why in matches.unsaid]
    return {**own, "rule": rules}, {way: dict(queue) for way, queue in queues.items()}, lacking


def _empty(own: Table) -> list[str]:
    """Return the classes that no rule fills. Only leaves have packets, and the last takes the rest."""
    parents = {each.get("parent") for each in own["class"]}
    leaves = [each["name"] for each in own["class"] if each["name"] not in parents]
    filled = {rule["class"] for rule in own["rule"]}
    return [name for name in leaves[:-1] if name not in filled]


def _name(rules: Sequence[Table]) -> dict[str, tuple[str, str]]:
    """Give each rule of a flow's port a name of its own. Return flow and end of the port by these names."""
    taken = {rule["name"] for rule in rules if "name" in rule}
    flows: dict[str, tuple[str, str]] = {}
    for rule in rules:
        if flow := rule.pop(FLOW, None):
            name = f"{flow}-{rule['direction']}"
            while name in taken:
                name += "-"
            taken.add(name)
            rule["name"] = name
            flows[name] = flow, rule.pop(END)
    return flows


def _lines(plan: Plan, own: Table, queues: dict[str, Table]) -> tuple[tuple[list[str], list[str], bool], Sequence[str]]:
    """Return the lines that undo and those that set up, whether joined packets hurt, and what they leave out."""
    lacking: list[str] = []
    while True:
        try:
            lines, refused = _native.kernel_lines(_policy(plan, own, queues), "the lines", [*INTERFACES], list(queues))
        except ScenarioError as error:
            return ([], [], False), [*lacking, " ".join(str(error).split())]
        if refused is None:
            return lines, lacking
        key, why, _ = refused
        *place, option = key.split(".")[1:]
        queue = _at(own, queues, place)
        if option not in queue:
            return ([], [], False), [*lacking, f"`{key}`: {why}."]
        value = queue.pop(option)
        lacking.append(f"`{key} = {value}`: {why}.")
        if option == "limit":
            queue[option] = f"{discipline.packets(value)}p"


def _at(own: Table, queues: Mapping[str, Table], place: Sequence[str]) -> Table:
    """Return the queue at `up`, `down`, or `class`, NAME, `queue`; an empty one if there is none."""
    match place:
        case [way]:
            return queues.get(way, {})
        case ["class", name, _]:
            queues_of = {each["name"]: each.get("queue") for each in own.get("class", [])}
            return found if isinstance(found := queues_of.get(name), dict) else {}
        case _:
            return {}


def _policy(plan: Plan, own: Table, queues: Mapping[str, Table]) -> str:
    rates = {lane.way: f"{lane.kbit}kbit" for lane in plan.lanes}
    both = {way: rates.get(way, f"{ELSEWHERE_BPS:.0f}bit") for way in WAYS}
    link = {**both, "overhead": plan.overhead, "mtu": plan.mtu}
    gateway = {**own, **queues, "shape": rates}
    return toml.lines({"name": plan.document["name"], "link": link, "gateway": gateway})


def _with_ports(lines: Sequence[str], flows: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield the lines with a variable for the port of each flow's server. Below its name a rule has its tests."""
    rule = None
    for line in lines:
        if "# rule: " in line:
            rule = flows.get(line.partition("# rule: ")[2])
        own = (
            line if rule is None else re.sub(rf"{rule[1]}port \d+ ", f"{rule[1]}port ${match.variable(rule[0])} ", line)
        )
        # The shell writes the variables into the table.
        yield own.replace("<<'END'", "<<END")


def _port(flow: Mapping[str, Any]) -> str:
    app = APPS[flow["app"]]
    name, of = flow["name"], f"{app.transport.upper()} port of the server"
    return f"{match.variable(name)}={app.server_port}  # {of} of {name}"
