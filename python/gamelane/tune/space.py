"""What a search may vary: keys with their values or ranges, some only together with others.

The list that ships is `space.toml`; a person adds or narrows with `--search KEY=A,B,…` or `--search KEY=LOW..HIGH`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gamelane import _native, quantity
from gamelane.analysis.tables import INTERACTIVE
from gamelane.errors import ScenarioError, UsageError
from gamelane.sweep.axes import written
from gamelane.sweep.refusal import said

SHIPPED = Path(__file__).parent / "space.toml"
QUANTITY = quantity.NUMBER_AND_UNIT

Settings = dict[str, str]


@dataclass(frozen=True)
class Parameter:
    """A key and what it may be: one of `values`, or a number from `low` to `high` of `unit`."""

    key: str
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    log: bool = False
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def applies(self, settings: Mapping[str, str]) -> bool:
        """Whether it means anything beside these settings."""
        return all(settings.get(key) in values for key, values in self.when.items())

    def text(self, number: float) -> str:
        """A number of the range as a scenario takes it: three figures, whole numbers of things that are counted."""
        rounded = float(f"{number:.3g}")
        return f"{rounded:g}{self.unit}" if rounded < 1e6 else f"{rounded:.0f}{self.unit}"

    @property
    def whole(self) -> bool:
        """Whether the range is of whole numbers."""
        return float(self.low).is_integer() and float(self.high).is_integer()

    def ends(self) -> tuple[str, ...]:
        """Values to try whether a scenario takes them."""
        return self.values or (self.text(self.low), self.text(self.high))


@dataclass(frozen=True)
class Space:
    """Parameters, those that others depend on first."""

    parameters: tuple[Parameter, ...]

    def suggest(self, trial: Any) -> Settings:
        """Let an Optuna trial choose."""
        settings: Settings = {}
        for parameter in self.parameters:
            if not parameter.applies(settings):
                continue
            if parameter.values:
                settings[parameter.key] = str(trial.suggest_categorical(parameter.key, parameter.values))
            elif parameter.whole:
                low, high = int(parameter.low), int(parameter.high)
                settings[parameter.key] = parameter.text(trial.suggest_int(parameter.key, low, high, log=parameter.log))
            else:
                number = trial.suggest_float(parameter.key, parameter.low, parameter.high, log=parameter.log)
                settings[parameter.key] = parameter.text(number)
        return settings


def shipped(scenario: _native.Scenario) -> Space:
    """Return the parameters that ship, less what this scenario does not take."""
    tables = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["parameter"]
    companions = _companions(scenario, tables)
    chosen: dict[str, Parameter] = {}
    for table in tables:
        parameter = _parameter(scenario, table)
        leader = table.get("beside")
        if leader is None:
            accepted = _accepted(scenario, parameter, {}, companions)
        elif leader in chosen:
            accepted = _beside(scenario, parameter, chosen[leader], table.get("of"), companions)
        else:
            accepted = None
        if accepted is not None:
            chosen[parameter.key] = accepted
    return Space(tuple(chosen.values()))


Companions = Mapping[tuple[str, str], Settings]
"""What else has to be said beside a value of a key, such as which flows go first where a queue is `priority`."""


def _companions(scenario: _native.Scenario, tables: Sequence[Mapping[str, Any]]) -> Companions:
    found: dict[tuple[str, str], Settings] = {}
    for table in tables:
        values = _parameter(scenario, table).values if "of" in table else ()
        for leading in table["of"] if values else ():
            found.setdefault((table["beside"], leading), {})[table["key"]] = values[0]
    return found


def with_searches(space: Space, searches: Sequence[str], scenario: _native.Scenario) -> Space:
    """Add what a person asked for; a key of the space keeps its place and conditions."""
    parameters = list(space.parameters)
    for text in searches:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not key or not values:
            raise UsageError(
                f"--search {text}: this is not KEY=VALUES\n"
                "  allowed: 'gateway.*.queue=codel,fq_codel', 'gateway.*.limit=50p..500p'"
            )
        known = next((index for index, each in enumerate(parameters) if each.key == key), None)
        when = parameters[known].when if known is not None else {}
        wanted = _search(text, key, values, when)
        if known is not None:
            parameters[known] = wanted
        else:
            parameters.append(wanted)
            _refuse_what_is_refused(text, scenario, wanted)
    return Space(tuple(parameters))


def without(space: Space, keys: Sequence[str]) -> Space:
    """Leave keys as the scenario has them."""
    known = [parameter.key for parameter in space.parameters]
    for key in keys:
        if key not in known:
            raise UsageError(f"--keep {key}: the search does not vary it\n  allowed: {', '.join(known)}")
    return Space(tuple(parameter for parameter in space.parameters if parameter.key not in keys))


def _search(text: str, key: str, values: str, when: Mapping[str, tuple[str, ...]]) -> Parameter:
    low, dots, high = values.partition("..")
    if not dots:
        return Parameter(
            key, tuple(dict.fromkeys(word.strip() for word in values.split(",") if word.strip())), when=when
        )
    ends = [QUANTITY.fullmatch(end.strip()) for end in (low, high)]
    if ends[0] is None or ends[1] is None or ends[0][2] != ends[1][2] or float(ends[0][1]) >= float(ends[1][1]):
        raise UsageError(
            f"--search {text}: this is no range\n  allowed: two quantities of one unit, the lower first: 1ms..20ms"
        )
    return _range(key, ends[0], ends[1], when, log=float(ends[1][1]) >= 10 * float(ends[0][1]) > 0)


def _range(
    key: str, low: re.Match[str], high: re.Match[str], when: Mapping[str, tuple[str, ...]], *, log: bool
) -> Parameter:
    return Parameter(key, (), float(low[1]), float(high[1]), high[2], log and float(low[1]) > 0, when)


def _parameter(scenario: _native.Scenario, table: Mapping[str, Any]) -> Parameter:
    values = table.get("values")
    if values == "schema":
        return Parameter(table["key"], words_of(table["key"]))
    if values == "games":
        games = [flow["name"] for flow in scenario.flows() if flow["app"] in INTERACTIVE]
        return Parameter(table["key"], (json.dumps(games),) if games else ())
    if "shares" in table:
        return Parameter(table["key"], ("false", *_shapes(scenario, table["shares"])))
    if values is not None:
        return Parameter(table["key"], tuple(written(value) for value in values))
    low, high = (QUANTITY.fullmatch(str(table[end])) for end in ("from", "to"))
    if low is None or high is None:
        raise ValueError(f"{SHIPPED}: {table['key']}: no range")
    return _range(table["key"], low, high, {}, log=bool(table.get("log")))


def _shapes(scenario: _native.Scenario, shares: Sequence[float]) -> list[str]:
    """Rates for both directions that are these shares of the link's; none where the link has no rate of its own."""
    link = tomllib.loads(scenario.to_toml())["link"]
    rates = {way: quantity.parse(link[way], "bit/s") for way in ("up", "down") if way in link}
    if not rates or None in rates.values() or link["kind"] == "wifi-g":
        return []
    return [
        "{ " + ", ".join(f'{way} = "{(rate or 0) * share / 1e3:.0f}kbit"' for way, rate in rates.items()) + " }"
        for share in shares
    ]


def words_of(key: str) -> tuple[str, ...]:
    """Words the scenario format knows for a key; `*` stands for `up`. A key of other things has none."""
    schema = json.loads(_native.schema())
    place: Any = schema
    for step in key.replace("*", "up").split("."):
        place = _resolved(schema, place).get("properties", {}).get(step)
        if place is None:
            return ()
    return tuple(dict.fromkeys(_words(schema, place)))


def _words(schema: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[str]:
    place = _resolved(schema, place)
    if isinstance(place.get("const"), str):
        yield place["const"]
    yield from (word for word in place.get("enum", []) if isinstance(word, str))
    for inner in (*place.get("oneOf", []), *place.get("anyOf", [])):
        yield from _words(schema, inner)


def _resolved(schema: Mapping[str, Any], place: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references, and the one choice of an optional value, to where the properties are."""
    while "properties" not in place:
        reference = place.get("$ref")
        if reference is not None:
            place = schema["$defs"][reference.rpartition("/")[2]]
            continue
        objects = [each for each in place.get("anyOf", []) if "$ref" in each]
        if len(objects) != 1 or "oneOf" in place:
            break
        place = objects[0]
    return place


def _beside(
    scenario: _native.Scenario,
    parameter: Parameter,
    leader: Parameter,
    of: Sequence[str] | None,
    companions: Companions,
) -> Parameter | None:
    """Return the parameter for those values of another that take it, of those in `of` if it is given.

    Where they differ in how much of it they take, for those that take most: a sampler wants one list of values.
    """
    taking = {
        value: _accepted(scenario, parameter, {leader.key: value, **companions.get((leader.key, value), {})}, {})
        for value in leader.values
        if of is None or value in of
    }
    most = max((each for each in taking.values() if each is not None), key=lambda each: len(each.values), default=None)
    when = tuple(value for value, accepted in taking.items() if accepted == most)
    return None if most is None else replace(most, when={leader.key: when})


def _accepted(
    scenario: _native.Scenario, parameter: Parameter, beside: Settings, companions: Companions
) -> Parameter | None:
    """Return the parameter with the values that the scenario takes, or None if it takes none."""

    def taken(value: str) -> bool:
        return _takes(scenario, {**beside, parameter.key: value, **companions.get((parameter.key, value), {})})

    if parameter.low == parameter.high:
        values = tuple(value for value in parameter.values if taken(value))
        return replace(parameter, values=values) if values else None
    return parameter if all(taken(end) for end in parameter.ends()) else None


def _takes(scenario: _native.Scenario, settings: Mapping[str, str]) -> bool:
    try:
        scenario.with_overrides(list(settings.items()))
    except ScenarioError:
        return False
    return True


def _refuse_what_is_refused(text: str, scenario: _native.Scenario, parameter: Parameter) -> None:
    for value in parameter.ends():
        try:
            scenario.with_overrides([(parameter.key, value)])
        except ScenarioError as refusal:
            hint = f"\n  hint:    {refusal.hint}" if refusal.hint else ""
            allowed = f"\n  allowed: {refusal.allowed}" if refusal.allowed else ""
            raise UsageError(f"--search {text}: {said(refusal)}\n  given:   {value}{allowed}{hint}") from None
