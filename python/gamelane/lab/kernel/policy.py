"""The policies of the gateway and of the modem behind it, for `gamelane-gateway run --engine kernel`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gamelane.apply.plan import has_classes
from gamelane.lab import toml
from gamelane.lab.plan import DIRECTIONS, Plan
from gamelane.lab.topology import of_link, server_address, shapes

LINK_QUEUES = {"up": "modem", "down": "isp"}
"""Keys of the queues of the link, if the gateway shapes."""


def gateway(plan: Plan) -> str:
    """Return the policy of the gateway: at the rate of `shape`, or else of the link."""
    shape = shapes(plan.gateway)
    queues = {way: plan.gateway[way] if shape[way] else of_link(plan.gateway[way]) for way in DIRECTIONS}
    return _text(plan, queues, {way: shape[way] or plan.link[way] for way in DIRECTIONS})


def modem(plan: Plan) -> str:
    """Return the policy of the modem behind a gateway that shapes: it has the queues of the link at its rates."""
    shape = shapes(plan.gateway)
    shaped = [way for way in DIRECTIONS if shape[way]]
    queues = {way: of_link(plan.gateway.get(LINK_QUEUES[way], {})) if way in shaped else {} for way in DIRECTIONS}
    return _text(plan, queues, {way: plan.link[way] for way in shaped})


def _text(plan: Plan, queues: Mapping[str, Mapping[str, Any]], rates: Mapping[str, str]) -> str:
    own = {key: plan.gateway[key] for key in KEPT if key in plan.gateway}
    if own.get("priority") and "class" not in own:
        del own["priority"]
        if any(has_classes(queue) and queue.get("acks") in FILTERS for queue in queues.values()):
            own["priority"] = ["game"]  # The plan refuses the filter. Any known name will do.
        elif any(map(has_classes, queues.values())):
            more, queues = _classes(plan, queues)
            own |= more
    elif "rule" in own:
        own["rule"] = [rule for each in own["rule"] for rule in _told(plan, each)]
    return toml.lines({"name": plan.name, "link": dict(plan.link), "gateway": {**own, **queues, "shape": rates}})


def _classes(
    plan: Plan, queues: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Write `gateway.priority` as classes and rules, because packets of the lab show of which flow they are."""
    prioritise = [way for way in DIRECTIONS if queues[way].get("acks") == "prioritise" and has_classes(queues[way])]
    shares = {"first": APART, "acks": APART, "rest": APART} if prioritise else {"first": HALF, "rest": HALF}
    classes = []
    for name, share in shares.items():
        alone = NONE if name == "acks" else HALF
        rate = {way: share if way in prioritise else alone for way in DIRECTIONS}
        classes.append({"name": name, "rate": rate, "priority": int(name == "rest")})
    rules = [{"class": "first", "flows": plan.gateway["priority"]}]
    rules += [{"class": "acks", "direction": way, "ack": True} for way in prioritise]
    told = [rule for each in rules for rule in _told(plan, each)]
    plain = {
        way: {key: value for key, value in queue.items() if way not in prioritise or key != "acks"}
        for way, queue in queues.items()
    }
    return {"class": classes, "rule": told}, plain


def _told(plan: Plan, rule: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a rule for the server of each flow that a rule names. A flow that takes no part has no server."""
    if "flows" not in rule:
        yield rule
        return
    rest = {key: value for key, value in rule.items() if key not in ("flows", "name")}
    servers = [server_address(flow) for flow in plan.flows if flow.name in rule["flows"]]
    for server in servers or [NOBODY]:
        yield {**rest, "address": server}


HALF, APART, NONE = "49.99%", "33.33%", "0.02%"
"""Shares of HTB: without a class for ACKs, with one, and that of this class where ACKs are not apart."""
NOBODY = "10.77.255.254"
FILTERS = ("filter", "filter-aggressive")
KEPT = ("priority", "class", "rule", "voap", "autorate")
