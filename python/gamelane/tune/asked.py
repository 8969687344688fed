"""What a person asks the search to vary (`--search`) or to leave alone (`--keep`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from gamelane import _native
from gamelane.errors import ScenarioError, UsageError
from gamelane.sweep.refusal import said
from gamelane.tune.parameters import QUANTITY, WAYS, Parameter, Space, gateway, range_of
from gamelane.tune.space import accepted, beside


def with_searches(space: Space, searches: Sequence[str], scenario: _native.Scenario) -> Space:
    """Add the parameters of `--search`. A key that is in the space already keeps its place."""
    parameters = list(space.parameters)
    for text in searches:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not key or not values:
            raise UsageError(
                f"--search {text}: not KEY=VALUES\n"
                "  allowed: for example 'gateway.*.queue=codel,fq_codel' or 'gateway.*.limit=50p..500p'"
            )
        wanted = _search(text, key, values)
        places = [each for each in parameters if each.key == key]
        found = _taken(replace(space, parameters=tuple(parameters)), scenario, wanted, places)
        _refuse_what_is_refused(text, scenario, wanted, found, places)
        at = parameters.index(places[0]) if places else len(parameters)
        parameters = [each for each in parameters if each.key != key]
        parameters[at:at] = found
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


def _taken(space: Space, scenario: _native.Scenario, wanted: Parameter, places: Sequence[Parameter]) -> list[Parameter]:
    """Return the wanted parameter for each place of its key, with the values that the scenario takes there."""
    conditions = [condition for place in places for condition in place.when.items()]
    leaders = {
        leader: [value for key, values in conditions if key == leader for value in values] for leader, _ in conditions
    }
    keys = {wanted.key, *leaders}
    companions = {
        (key, value): space.required({key: value}) for key in keys for value in (*space.values(key), *wanted.values)
    }
    if not leaders:
        found = accepted(scenario, wanted, {}, companions)
        return [] if found is None else [found]
    return [
        each
        for leader in space.parameters
        if leader.key in leaders
        for each in beside(scenario, wanted, leader, leaders[leader.key], companions)
    ]


def _refuse_what_is_refused(
    text: str,
    scenario: _native.Scenario,
    wanted: Parameter,
    found: Sequence[Parameter],
    places: Sequence[Parameter],
) -> None:
    """Refuse a value that the scenario takes in no place, with the reason of the first place."""
    first = {key: values[0] for place in places[:1] for key, values in place.when.items()}
    for value in wanted.ends():
        if any(value in each.ends() for each in found):
            continue
        try:
            scenario.with_overrides(Space(()).overrides(scenario, {**first, wanted.key: value}))
        except ScenarioError as refusal:
            hint = f"\n  hint:    {refusal.hint}" if refusal.hint else ""
            allowed = f"\n  allowed: {refusal.allowed}" if refusal.allowed else ""
            raise UsageError(f"--search {text}: {said(refusal)}\n  given:   {value}{allowed}{hint}") from None
