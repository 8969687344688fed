"""The classes of a scenario as a tree of HTB, which is in every kernel and shapes, too.

- `priority`: the first class has the whole rate, the others almost none. HTB serves classes
  within their rate first. Then the others borrow, in order of priority.
- `drr`: all classes borrow everything, in turns of their quantum.
- `htb`: the classes as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gamelane import quantity
from gamelane.apply import match
from gamelane.apply.discipline import FRAME, discipline, plain, unsaid
from gamelane.apply.match import Match
from gamelane.apply.plan import Lane, Plan

LEAST_BPS = 1000.0
"""Rate of a class that has none of its own. HTB refuses zero."""
PRIORITIES = 8
ONE_PACKET = 1600
BURST_SECONDS = 0.001
DEFAULT_LIMIT = "50p"


@dataclass(frozen=True)
class Class:
    """A class of HTB."""

    minor: int
    """Hexadecimal digits that read as a decimal number: 10, 20, …"""
    parent: int
    rate_bps: float
    ceil_bps: float
    priority: int
    quantum: int
    burst: int
    names: str
    queue: Mapping[str, Any] | None
    """Queue of a leaf."""

    @property
    def classid(self) -> str:
        """Name of the class in `tc`."""
        return f"1:{self.minor}"


@dataclass(frozen=True)
class Tree:
    """All classes of one direction below the root, and the rules that fill them. The last class takes the rest."""

    classes: tuple[Class, ...]
    rules: tuple[tuple[Match, str], ...]
    unsaid: tuple[str, ...]


def shaper(lane: Lane, device: str, default: int) -> list[str]:
    """Return the root of a device, and its class that has the whole rate."""
    bps = lane.framing.stab_rate(lane.rate_bps)
    burst = _burst(bps)
    return [
        f"tc qdisc replace dev {device} root handle 1: {lane.framing.stab()} htb default {default}",
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {_rate(bps)} burst {burst} cburst {burst} "
        f"quantum {FRAME}",
    ]


def lines(tree: Tree, lane: Lane, device: str) -> list[str]:
    """Return root, classes and their queues."""
    found = shaper(lane, device, tree.classes[-1].minor)
    for each in tree.classes:
        rate, ceil = (lane.framing.stab_rate(bps) for bps in (each.rate_bps, each.ceil_bps))
        found.append(
            f"tc class replace dev {device} parent 1:{each.parent} classid {each.classid} htb rate {_rate(rate)} "
            f"ceil {_rate(ceil)} burst {each.burst} cburst {_burst(ceil)} prio {each.priority} quantum {each.quantum}"
        )
        if each.queue is not None:
            found.append(
                f"tc qdisc replace dev {device} parent {each.classid} handle {each.minor}: {discipline(each.queue)}"
            )
    return found


def tree(plan: Plan, lane: Lane) -> Tree:
    """Return the classes and rules of one direction."""
    own = plan.gateway.get("class")
    return _own(plan, lane, own) if own else _from_priority(plan, lane)


def _from_priority(plan: Plan, lane: Lane) -> Tree:
    """Return a class for the flows of `gateway.priority`, one for pure ACKs if `acks` asks for it, one for the rest."""
    named = list(plan.gateway.get("priority", []))
    acks = str(lane.queue.get("acks", "plain"))
    names = [", ".join(named) or "nothing", *(["pure ACKs"] if acks != "plain" else []), "all other packets"]
    queue = {"limit": lane.queue.get("limit", DEFAULT_LIMIT)}
    classes = []
    for index, words in enumerate(names):
        last = index + 1 == len(names)
        rate, priority = _share(lane, index, lane.rate_bps / len(names), int(last))
        minor = 10 * (index + 1)
        classes.append(
            Class(minor, 1, rate, lane.rate_bps, priority, plan.mtu, _burst(rate), words, queue),
        )
    rules, lacking = [], []
    for name in named:
        found = match.of_flow(plan, name, named, lane.way)
        rules += [(each, classes[0].classid) for each in found.found]
        lacking += [found.unsaid] if found.unsaid else []
    if acks != "plain":
        rules.append((match.ACK, classes[1].classid))
    if acks.startswith("filter"):
        lacking.append(f"`gateway.{lane.way}.acks = {acks}`: in Linux only CAKE filters ACKs; here they get a class.")
    return Tree(tuple(classes), tuple(rules), tuple(lacking))


def _own(plan: Plan, lane: Lane, own: list[Mapping[str, Any]]) -> Tree:
    """Return the classes of `[[gateway.class]]`."""
    parents = {each.get("parent") for each in own}
    minors = {each["name"]: 10 * (index + 1) for index, each in enumerate(own)}
    ceils: dict[str | None, float] = {None: lane.rate_bps}
    is_htb = lane.kind == "htb"
    # Only HTB has a tree; the others read the leaves in their order.
    read = [each for each in own if is_htb or each["name"] not in parents]
    classes, lacking = [], []
    for index, each in enumerate(read):
        name, parent = each["name"], each.get("parent") if is_htb else None
        ceils[name] = _bps(each.get("ceil"), lane) or ceils[parent]
        rate, priority = _share(lane, index, _bps(each.get("rate"), lane), int(each.get("priority", 0)))
        quantum = int(plain(each.get("quantum", f"{plan.mtu}B")))
        burst = _burst(rate) + (int(plain(each["burst"])) if is_htb and "burst" in each else 0)
        queue = None
        if name not in parents:
            queue = _queue(each, lane)
            lacking += unsaid(queue, f"class.{name}.queue")
        ceil = ceils[name] if is_htb else lane.rate_bps
        number = minors[parent] if parent else 1
        classes.append(Class(minors[name], number, rate, ceil, priority, quantum, burst, name, queue))
    rules = []
    for rule in plan.gateway.get("rule", []):
        for found in match.of_rule(plan, rule, lane.way):
            rules += [(each, f"1:{minors[rule['class']]}") for each in found.found]
            lacking += [found.unsaid] if found.unsaid else []
    if lane.kind == "priority" and len(classes) > PRIORITIES:
        lacking.append(f"HTB has {PRIORITIES} priorities: the last {len(classes) - PRIORITIES + 1} classes share one.")
    return Tree(tuple(classes), tuple(rules), tuple(lacking))


def _share(lane: Lane, index: int, rate: float, priority: int) -> tuple[float, int]:
    """Return rate and priority of a class: its own, or those that make HTB the other discipline."""
    if lane.kind == "priority":
        return (lane.rate_bps if index == 0 else LEAST_BPS), min(index, PRIORITIES - 1)
    if lane.kind == "drr":
        return LEAST_BPS, 0
    return max(rate, LEAST_BPS), priority


def _queue(each: Mapping[str, Any], lane: Lane) -> Mapping[str, Any]:
    own = each.get("queue")
    if own is None:
        return {"limit": lane.queue.get("limit", DEFAULT_LIMIT)}
    return own if isinstance(own, Mapping) else {"queue": own}


def _bps(written: Any, lane: Lane) -> float:
    """Read a rate, a share of the whole rate, or one of either for each direction."""
    if isinstance(written, Mapping):
        written = written.get(lane.way)
    if written is None:
        return 0.0
    share = quantity.parse(str(written), "%") if str(written).endswith("%") else None
    return lane.rate_bps * share / 100 if share is not None else quantity.parse(str(written), "bit/s") or 0.0


def _burst(bps: float) -> int:
    """Return the bytes that may leave at once: one packet, or what a fast link sends between two timers."""
    return max(ONE_PACKET, round(bps / 8 * BURST_SECONDS))


def _rate(bps: float) -> str:
    return f"{max(1, round(bps / 1e3))}kbit"


def named(classes: tuple[Class, ...]) -> Iterator[str]:
    """Return a comment for each class."""
    return (f"# class {each.classid}: {each.names}" for each in classes)
