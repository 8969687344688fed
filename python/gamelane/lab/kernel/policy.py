"""The policies of the gateway and of the modem behind it, for `gamelane-gateway run --engine kernel`. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from gamelane import _native, toml
from gamelane.catalogue import queue_of
from gamelane.lab.plan import DIRECTIONS, Plan
from gamelane.lab.topology import of_link, server_address, shapes

LINK_QUEUES = {"up": "modem", "down": "isp"}
"""Keys of the queues of the link, if the gateway shapes."""


def gateway(plan: Plan) -> str:
    """Return the policy of the gateway: at the rate of `shape`, or else of the link."""
    shape = shapes(plan.gateway)
    queues = {way: plan.gateway[way] if shape[way] else of_link(plan.gateway[way]) for way in DIRECTIONS}
    own = {key: plan.gateway[key] for key in ("voap", "autorate") if key in plan.gateway}
    return _text(plan, own, queues, {way: shape[way] or plan.link[way] for way in DIRECTIONS})


def modem(plan: Plan) -> str:
    """Return the policy of the modem behind a gateway that shapes: it has the queues of the link at its rates."""
    shape = shapes(plan.gateway)
    shaped = [way for way in DIRECTIONS if shape[way]]
    queues = {way: of_link(plan.gateway.get(LINK_QUEUES[way], {})) if way in shaped else {} for way in DIRECTIONS}
    return _text(plan, {}, queues, {way: plan.link[way] for way in shaped})


def by_behaviour(plan: Plan) -> list[str]:
    """Return the names in `gateway.priority` that are no flow's: they stand for a behaviour."""
    flows = {flow["name"] for flow in tomllib.loads(plan.toml)["flow"]}
    return [name for name in plan.gateway.get("priority", []) if name not in flows]


def _text(plan: Plan, own: dict[str, Any], queues: Mapping[str, Mapping[str, Any]], rates: Mapping[str, str]) -> str:
    named = plan.gateway.get("priority")
    if "class" in plan.gateway:
        rules = [rule for each in plan.gateway.get("rule", []) for rule in _told(plan, each)]
        kept = {key: plan.gateway[key] for key in ("priority", "class", "detector") if key in plan.gateway}
        own = {**own, **kept, "rule": rules}
    elif named and any(_has_classes(queue) and queue.get("acks") in FILTERS for queue in queues.values()):
        own = {**own, "priority": ["game"]}  # The plan refuses the filter. Any known name will do.
    elif named and any(map(_has_classes, queues.values())):
        behaviours = by_behaviour(plan)
        flows = [name for name in named if name not in behaviours]
        more = tomllib.loads(_native.classes_of_priority(toml.lines({"priority": named, **queues}), flows))
        own |= {**more, "rule": [rule for each in more["rule"] for rule in _told(plan, each)]}
        queues = {way: more[way] for way in DIRECTIONS}
    return toml.lines({"name": plan.name, "link": dict(plan.link), "gateway": {**own, **queues, "shape": rates}})


def _has_classes(queue: Mapping[str, Any]) -> bool:
    return queue_of(queue).isolates == "classes"


def _told(plan: Plan, rule: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a rule for the server of each flow that a rule names. A flow that takes no part has no server."""
    if "flows" not in rule:
        yield rule
        return
    rest = {key: value for key, value in rule.items() if key not in ("flows", "name")}
    servers = [server_address(flow) for flow in plan.flows if flow.name in rule["flows"]]
    for server in servers or [NOBODY]:
        yield {**rest, "address": server}


NOBODY = "10.77.255.254"
FILTERS = ("filter", "filter-aggressive")
