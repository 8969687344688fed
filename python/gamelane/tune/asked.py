"""What a person asks the search to vary (`--search`) or to leave alone (`--keep`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from gamelane import _native
from gamelane.errors import ScenarioError, UsageError
from gamelane.sweep.refusal import said
from gamelane.tune.parameters import QUANTITY, WAYS, Parameter, Space, gateway, range_of


def with_searches(space: Space, searches: Sequence[str], scenario: _native.Scenario) -> Space:
    """Add the parameters of `--search`. A key that is in the space already keeps its place and conditions."""
    parameters = list(space.parameters)
    for text in searches:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not key or not values:
            raise UsageError(
                f"--search {text}: not KEY=VALUES\n"
                "  allowed: for example 'gateway.*.queue=codel,fq_codel' or 'gateway.*.limit=50p..500p'"
            )
        wanted = _search(text, key, values)
        places = [index for index, each in enumerate(parameters) if each.key == key]
        if not places:
            parameters.append(wanted)
            _refuse_what_is_refused(text, scenario, wanted)
            continue
        whens = [dict(parameters[index].when) for index in places]
        merged = {leader: tuple(value for when in whens for value in when.get(leader, ())) for leader in whens[0]}
        parameters[places[0]] = replace(wanted, when=merged)
        for index in reversed(places[1:]):
            del parameters[index]
    return replace(space, parameters=tuple(parameters))


def without(space: Space, keys: Sequence[str], scenario: _native.Scenario) -> Space:
    """Return the space without these keys, which keep the scenario's values."""
    known = list(dict.fromkeys(parameter.key for parameter in space.parameters))
    for key in keys:
        if key not in known:
            raise UsageError(f"--keep {key}: the search does not vary it\n  allowed: {', '.join(known)}")
    parameters = tuple(parameter for parameter in space.parameters if parameter.key not in keys)
    return Space(parameters, tuple(pair for key in keys for pair in _own(scenario, key)))


def _own(scenario: _native.Scenario, key: str) -> list[tuple[str, str]]:
    """Return the scenario's own values of a key of both queues, as overrides."""
    table, star, name = key.partition(".*.")
    if not star:
        return []
    queues = gateway(scenario)
    return [
        (f"{table}.{way}.{name}", value if isinstance(value, str) else json.dumps(value))
        for way in WAYS
        if (value := queues.get(way, {}).get(name)) is not None
    ]


def _search(text: str, key: str, values: str) -> Parameter:
    low, dots, high = values.partition("..")
    if not dots:
        return Parameter(key, tuple(dict.fromkeys(word.strip() for word in values.split(",") if word.strip())))
    ends = [QUANTITY.fullmatch(end.strip()) for end in (low, high)]
    if ends[0] is None or ends[1] is None or ends[0][2] != ends[1][2] or float(ends[0][1]) >= float(ends[1][1]):
        raise UsageError(
            f"--search {text}: not a range\n"
            "  allowed: two quantities in the same unit, the lower first, for example 1ms..20ms"
        )
    return range_of(key, ends[0], ends[1], log=float(ends[1][1]) >= 10 * float(ends[0][1]) > 0)


def _refuse_what_is_refused(text: str, scenario: _native.Scenario, parameter: Parameter) -> None:
    for value in parameter.ends():
        try:
            scenario.with_overrides([(parameter.key, value)])
        except ScenarioError as refusal:
            hint = f"\n  hint:    {refusal.hint}" if refusal.hint else ""
            allowed = f"\n  allowed: {refusal.allowed}" if refusal.allowed else ""
            raise UsageError(f"--search {text}: {said(refusal)}\n  given:   {value}{allowed}{hint}") from None
