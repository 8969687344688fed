"""The search space: keys with their values or ranges. Some keys apply only beside a value of another key.

`space.toml` is the shipped list. `--search KEY=A,B,…` and `--search KEY=LOW..HIGH` add to it or replace a key's values.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from gamelane import _native, quantity
from gamelane.catalogue import INTERACTIVE
from gamelane.errors import ScenarioError, UsageError
from gamelane.sweep.refusal import Source, said
from gamelane.sweep.tables import Table, Value, parse

SHIPPED = Path(__file__).parent / "space.toml"
QUANTITY = quantity.NUMBER_AND_UNIT

Settings = dict[str, str]


class ParameterTable(Table):
    """A table `[[parameter]]` of `space.toml`, which explains the keys."""

    key: str = Field(description='a key of the scenario, for example "gateway.*.limit"')
    values: Literal["schema", "games"] | list[Value] | None = Field(
        None, description='a list of values, "schema" or "games"'
    )
    low: Value | None = Field(None, alias="from", description='a quantity, for example "1ms"')
    high: Value | None = Field(None, alias="to", description='a quantity in the same unit, for example "50ms"')
    log: bool = Field(False, description="true or false")
    shares: list[float] | None = Field(None, description="a list of numbers, for example [0.9, 0.95]")
    beside: str | None = Field(None, description="the key of a parameter above")
    of: list[str] | None = Field(None, description="a list of values of the key in `beside`")

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        kinds = (self.values is not None, self.low is not None and self.high is not None, self.shares is not None)
        if sum(kinds) != 1:
            raise ValueError("a parameter takes `values`, or `from` and `to`, or `shares`")
        if self.of is not None and self.beside is None:
            raise ValueError("`of` needs `beside`")
        return self


class Document(Table):
    """The whole of `space.toml`."""

    parameter: list[ParameterTable] = Field(description="tables [[parameter]]")


@dataclass(frozen=True)
class Parameter:
    """A key and its values: one of `values`, or a number of `unit` from `low` to `high`."""

    key: str
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    log: bool = False
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def applies(self, settings: Mapping[str, str]) -> bool:
        """Return whether the scenario takes this key beside these settings."""
        return all(settings.get(key) in values for key, values in self.when.items())

    def text(self, number: float) -> str:
        """Return a number of the range as a scenario takes it, rounded to three significant digits."""
        rounded = float(f"{number:.3g}")
        return f"{rounded:g}{self.unit}" if rounded < 1e6 else f"{rounded:.0f}{self.unit}"

    @property
    def whole(self) -> bool:
        """Return whether both ends of the range are whole numbers."""
        return float(self.low).is_integer() and float(self.high).is_integer()

    def ends(self) -> tuple[str, ...]:
        """Return the values that show whether a scenario takes this key."""
        return self.values or (self.text(self.low), self.text(self.high))


@dataclass(frozen=True)
class Space:
    """Parameters in an order in which each follows the one it depends on."""

    parameters: tuple[Parameter, ...]

    def suggest(self, trial: Any) -> Settings:
        """Return the settings that an Optuna trial chooses."""
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
    """Return the shipped parameters that this scenario takes."""
    tables = parse(Source(SHIPPED, SHIPPED.read_text(encoding="utf-8")), Document).parameter
    companions = _companions(scenario, tables)
    chosen: dict[str, Parameter] = {}
    for table in tables:
        parameter = _parameter(scenario, table)
        if table.beside is None:
            accepted = _accepted(scenario, parameter, {}, companions)
        elif table.beside in chosen:
            accepted = _beside(scenario, parameter, chosen[table.beside], table.of, companions)
        else:
            accepted = None
        if accepted is not None:
            chosen[parameter.key] = accepted
    return Space(tuple(chosen.values()))


Companions = Mapping[tuple[str, str], Settings]
"""For a key and its value, the other keys that this value requires: queue `priority` needs a list of flows."""


def _companions(scenario: _native.Scenario, tables: Sequence[ParameterTable]) -> Companions:
    found: dict[tuple[str, str], Settings] = {}
    for table in tables:
        values = _parameter(scenario, table).values
        for value in table.of or () if values else ():
            found.setdefault((table.beside or "", value), {})[table.key] = values[0]
    return found


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
    """Return the space without these keys, which keep the scenario's values."""
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
            f"--search {text}: not a range\n"
            "  allowed: two quantities in the same unit, the lower first, for example 1ms..20ms"
        )
    return _range(key, ends[0], ends[1], when, log=float(ends[1][1]) >= 10 * float(ends[0][1]) > 0)


def _range(
    key: str, low: re.Match[str], high: re.Match[str], when: Mapping[str, tuple[str, ...]], *, log: bool
) -> Parameter:
    return Parameter(key, (), float(low[1]), float(high[1]), high[2], log and float(low[1]) > 0, when)


def _parameter(scenario: _native.Scenario, table: ParameterTable) -> Parameter:
    if table.values == "schema":
        return Parameter(table.key, words_of(table.key))
    if table.values == "games":
        games = [flow["name"] for flow in scenario.flows() if flow["app"] in INTERACTIVE]
        return Parameter(table.key, (json.dumps(games),) if games else ())
    if table.shares is not None:
        return Parameter(table.key, ("false", *_shapes(scenario, table.shares)))
    if table.values is not None:
        return Parameter(table.key, tuple(table.values))
    low, high = (QUANTITY.fullmatch(end or "") for end in (table.low, table.high))
    if low is None or high is None:
        raise ValueError(f"{SHIPPED}: {table.key}: `from` and `to` must be quantities")
    return _range(table.key, low, high, {}, log=table.log)


def _shapes(scenario: _native.Scenario, shares: Sequence[float]) -> list[str]:
    """Return rates for both directions at these shares of the link's rates; none if the link has no fixed rate."""
    link = tomllib.loads(scenario.to_toml())["link"]
    rates = {way: quantity.parse(link[way], "bit/s") for way in ("up", "down") if way in link}
    if not rates or None in rates.values() or link["kind"] == "wifi-g":
        return []
    return [
        "{ " + ", ".join(f'{way} = "{(rate or 0) * share / 1e3:.0f}kbit"' for way, rate in rates.items()) + " }"
        for share in shares
    ]


def words_of(key: str) -> tuple[str, ...]:
    """Return the words that the scenario's schema lists for a key, with `*` read as `up`; empty if it lists none."""
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
    """Follow `$ref`, and the only object of an `anyOf`, to the schema with the properties."""
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
    """Return the parameter with the leader's values beside which the scenario takes it, restricted to `of` if given.

    If some of these take fewer values of the parameter, they are left out: a sampler needs one list of values.
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
    """Return the parameter with only the values that the scenario takes, or None if it takes none."""

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
