"""The policy file and the command of gamelane's own gateway."""

from __future__ import annotations

from collections.abc import Iterator

from gamelane import _native
from gamelane.apply.plan import Plan, has_classes
from gamelane.apply.recipe import Recipe

TARGET = "gateway"
FILE = "gamelane.toml"
KNOWN_BY_BEHAVIOUR = ("game", "voip", "trace")
"""Applications that `gamelane gateway` recognises without a code point (crates/gateway/src/policy/rules.rs)."""


def recipe(plan: Plan, scenario: _native.Scenario) -> Recipe:
    """Return the scenario with a shaper, and the command that runs its gateway."""
    lacking = [*plan.refused, *_unknown(plan)]
    if lacking:
        return Recipe(TARGET, unsaid=tuple(lacking))
    rates = ", ".join(f'{lane.way} = "{lane.kbit}kbit"' for lane in plan.lanes)
    text = scenario.with_overrides([("gateway.shape", f"{{ {rates} }}")]).to_toml().strip()
    beside = [f"# {FILE} needs {file} beside it." for file in _files(plan)]
    return Recipe(
        TARGET,
        ("LAN=eth1  # the interface towards the home", "WAN=eth0  # the interface towards the modem"),
        (),
        (
            *beside,
            f"cat > {FILE} <<'END'",
            *text.splitlines(),
            "END",
            f'gamelane gateway run --lan "$LAN" --wan "$WAN" {FILE}  # Ctrl-C ends it and undoes everything',
        ),
        plan.elsewhere,
    )


def _unknown(plan: Plan) -> Iterator[str]:
    """Return a sentence for each flow that needs a class and that the gateway would not recognise."""
    if not any(has_classes(lane.queue) for lane in plan.lanes):
        return
    named = plan.gateway.get("priority", [])
    for flow in plan.flows:
        if flow["name"] in named and flow["app"] not in KNOWN_BY_BEHAVIOUR and flow.get("dscp", "CS0") == "CS0":
            yield f"nothing tells `{flow['name']}` from other traffic; the gateway would know it by a `dscp`."
    for rule in plan.gateway.get("rule", []):
        if "flows" in rule:
            yield f"a rule for class `{rule['class']}` has `flows`, and the gateway knows flows in `priority` only."


def _files(plan: Plan) -> Iterator[str]:
    """Return the files that the scenario names."""
    yield from plan.document["link"].get("trace", {}).values()
    for flow in plan.flows:
        yield from (str(flow[key]) for key in ("trace", "model") if str(flow.get(key, "")).count("."))
