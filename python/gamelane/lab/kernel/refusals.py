"""Refuses scenarios that the kernel's queues cannot run, before anything starts. The simulator and the lab can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gamelane import _native
from gamelane.catalogue import QUEUES, queue_of
from gamelane.lab.kernel import policy
from gamelane.lab.kernel.available import Available
from gamelane.lab.plan import Plan, Refusal, each_way
from gamelane.lab.topology import shapes

ELSEWHERE = "run it with --engine lab, which has gamelane's own gateway, or simulate it"
QEMU = f"run it in a kernel that does, with --vm and GAMELANE_VM=qemu; or {ELSEWHERE}"

SHAPER = "htb"
"""The discipline that every run needs (`available.NEEDED`)."""


def refuse(plan: Plan, refusal: Refusal, available: Available) -> None:
    """Refuse the first key that the kernel has nothing for."""
    if not available.shows_packets:
        _packets(plan, refusal)
    gateway = plan.gateway
    _policy(policy.gateway(plan), gateway, ("up", "down"), refusal, available.queues)
    shaped = [way for way, rate in shapes(gateway).items() if rate]
    if shaped:
        _policy(policy.modem(plan), gateway, [policy.LINK_QUEUES[way] for way in shaped], refusal, available.queues)


def _packets(plan: Plan, refusal: Refusal) -> None:
    """Refuse what needs a kernel that shows single packets."""
    gateway = plan.gateway
    autorate = gateway.get("autorate", False)
    if autorate == {} or any(each_way(autorate, False)):  # an empty table: on, with all defaults
        why = "this kernel shows no single packets, and autorate follows their delays"
        refusal("gateway.autorate", autorate or True, why, "false", QEMU)
    why = "this kernel shows no single packets, so flows are known by their servers, not by their behaviour"
    for name in policy.by_behaviour(plan):
        refusal("gateway.priority", name, why, "names of flows", QEMU)
    for rule in gateway.get("rule", []):
        if "behaviour" in rule:
            refusal("gateway.rule", rule["behaviour"], why, "`flows`, addresses, ports, `dscp`", QEMU)


def _policy(
    text: str, gateway: Mapping[str, Any], places: Sequence[str], refusal: Refusal, available: Sequence[str]
) -> None:
    """Refuse what `gamelane-gateway` would refuse. `places` are the keys of its queues in the scenario."""
    needed, refused = _native.kernel_queues(text, refusal.file)
    if refused is not None:
        key, why, instead = refused
        key = key.replace("gateway.up", f"gateway.{places[0]}").replace("gateway.down", f"gateway.{places[-1]}")
        refusal(key, _value(gateway, key), why, None, f"{instead}, or {ELSEWHERE}" if instead else ELSEWHERE)
    for kind in needed:
        if not available or kind in (*available, SHAPER):
            continue
        why = f"this kernel has no sch_{kind}"
        word = next(word for word, queue in QUEUES.items() if queue.tc == kind)
        there = ", ".join(f'"{other}"' for other, queue in QUEUES.items() if queue.tc in available)
        place = next((place for place in places if queue_of(gateway.get(place, {})).word == word), "class")
        refusal(f"gateway.{place}.queue", word, why, there, ELSEWHERE)


def _value(gateway: Mapping[str, Any], key: str) -> Any:
    """Return the value at a key such as `gateway.up.limit`."""
    found: Any = gateway
    for part in key.split(".")[1:]:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
