"""Refuses scenarios that the kernel's queues cannot run, before anything starts. The simulator and the lab can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gamelane.apply.discipline import counts_packets, name_of, without_option
from gamelane.apply.plan import kind_of
from gamelane.catalogue import QUEUES
from gamelane.lab.plan import DIRECTIONS, Plan, Refusal, each_way
from gamelane.lab.topology import shapes

ELSEWHERE = "run it with --engine lab, which has gamelane's own gateway, or simulate it"
NOT_YET = ("drr", "htb")
"""Queues with classes of their own, which need more than this engine sets up."""
DISCIPLINES = tuple(word for word in QUEUES if word not in NOT_YET)


def refuse(plan: Plan, refusal: Refusal, available: Sequence[str]) -> None:
    """Refuse the first key that the kernel has nothing for. `available` are its queue disciplines; empty if unknown."""
    gateway = plan.gateway
    if gateway.get("voap"):
        refusal("gateway.voap", True, "Linux cannot change the TCP windows of others", "false", ELSEWHERE)
    autorate = gateway.get("autorate", False)
    if autorate == {} or any(each_way(autorate, False)):  # an empty table: on, with all defaults
        refusal("gateway.autorate", autorate or True, "the kernel's shaper keeps its rate", "false", ELSEWHERE)
    for way in DIRECTIONS:
        _queue(plan, f"gateway.{way}", gateway[way], refusal, available)
    shape = shapes(gateway)
    for way, name in (("up", "modem"), ("down", "isp")):
        if shape[way] and name in gateway:
            _queue(plan, f"gateway.{name}", gateway[name], refusal, available)


def _queue(plan: Plan, place: str, queue: Mapping[str, Any], refusal: Refusal, available: Sequence[str]) -> None:
    kind = kind_of(queue)
    there = [word for word in DISCIPLINES if not available or QUEUES[word].tc.name in available]
    if kind not in there:
        why = "the kernel engine does not set up this queue yet"
        if kind not in NOT_YET:
            why = f"this kernel has no sch_{QUEUES[kind].tc.name}"
        refusal(f"{place}.queue", kind, why, ", ".join(f'"{word}"' for word in there), ELSEWHERE)
    if kind == "priority" and "class" in plan.gateway:
        why = "the kernel engine has no classes of your own yet"
        refusal("gateway.class", plan.gateway["class"][0]["name"], why, "`gateway.priority`", ELSEWHERE)
    flows = [flow.name for flow in plan.flows]
    for name in plan.gateway.get("priority", []) if kind == "priority" else []:
        if name not in flows:
            why = "the kernel does not know packets by their behaviour"
            refusal("gateway.priority", name, why, "names of flows", ELSEWHERE)
    if queue.get("parameters", "linux") != "linux":
        why = "Linux has its own defaults and details"
        refusal(f"{place}.parameters", queue["parameters"], why, '"linux"', f"--set {place}.parameters=linux")
    if kind != "cake" and str(queue.get("acks", "plain")).startswith("filter"):
        allowed = '"plain", "prioritise"'
        refusal(f"{place}.acks", queue["acks"], "in Linux only CAKE filters ACKs", allowed, f"--set {place}.queue=cake")
    if counts_packets(queue):
        packets = "packets, for example 1000p"
        refusal(
            f"{place}.limit", queue["limit"], f"{name_of(queue)} counts packets", packets, f"--set {place}.limit=1000p"
        )
    for key in without_option(queue):
        why = f"{name_of(queue)} has no such option in `tc`"
        refusal(f"{place}.{key}", queue[key], why, "no value", f"remove the key, or {ELSEWHERE}")
