"""The search space: keys with their values or ranges. Some keys apply only beside a value of another key.

`space.toml` is the shipped list. `--search KEY=A,B,…` and `--search KEY=LOW..HIGH` add to it or replace a key's values.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from gamelane import _native, quantity
from gamelane.catalogue import INTERACTIVE
from gamelane.errors import ScenarioError
from gamelane.keys import keys
from gamelane.sweep.refusal import Source
from gamelane.sweep.tables import Table, Value, parse
from gamelane.tune.parameters import QUANTITY, WAYS, Parameter, Settings, Space, gateway, range_of, takes

SHIPPED = Path(__file__).parent / "space.toml"


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


def shipped(scenario: _native.Scenario) -> Space:
    """Return the shipped parameters that this scenario takes."""
    tables = parse(Source(SHIPPED, SHIPPED.read_text(encoding="utf-8")), Document).parameter
    companions = _companions(scenario, tables)
    chosen: dict[str, list[Parameter]] = {}
    for table in tables:
        parameter = _parameter(scenario, table)
        if table.beside is None:
            taken = accepted(scenario, parameter, {}, companions)
            found = [] if taken is None else [taken]
        else:
            leaders = chosen.get(table.beside, [])
            found = [each for leader in leaders for each in beside(scenario, parameter, leader, table.of, companions)]
        if found:
            chosen[parameter.key] = found
    return Space(tuple(parameter for of in chosen.values() for parameter in of))


Companions = Mapping[tuple[str, str], Settings]
"""For a key and its value, the other keys that this value requires: queue `priority` needs a list of flows."""


def _companions(scenario: _native.Scenario, tables: Sequence[ParameterTable]) -> Companions:
    found: dict[tuple[str, str], Settings] = {}
    for table in tables:
        values = _parameter(scenario, table).values
        for value in table.of or () if values else ():
            found.setdefault((table.beside or "", value), {})[table.key] = values[0]
    return found


def _parameter(scenario: _native.Scenario, table: ParameterTable) -> Parameter:
    if table.values == "schema":
        return Parameter(table.key, tuple(keys()[table.key]))
    if table.values == "games":
        games = [flow["name"] for flow in scenario.flows() if flow["app"] in INTERACTIVE]
        return Parameter(table.key, (json.dumps(games),) if games else ())
    if table.shares is not None:
        return Parameter(table.key, tuple(shapes(scenario, table.shares)))
    if table.values is not None:
        return Parameter(table.key, tuple(table.values))
    low, high = (QUANTITY.fullmatch(end or "") for end in (table.low, table.high))
    if low is None or high is None:
        raise ValueError(f"{SHIPPED}: {table.key}: `from` and `to` must be quantities")
    return range_of(table.key, low, high, log=table.log)


def beside(
    scenario: _native.Scenario,
    parameter: Parameter,
    leader: Parameter,
    of: Sequence[str] | None,
    companions: Companions,
) -> list[Parameter]:
    """Return the parameter for each group of the leader's values beside which the scenario takes the same values.

    A group that leaves no choice where another has one is left out.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for value in leader.values:
        if of is not None and value not in of:
            continue
        taken = accepted(scenario, parameter, {leader.key: value, **companions.get((leader.key, value), {})}, {})
        if taken is not None:
            groups.setdefault(taken.values, []).append(value)
    choice = any(len(values) > 1 for values in groups)
    return [
        replace(parameter, values=values, when={leader.key: tuple(leading)})
        for values, leading in groups.items()
        if len(values) != 1 or not choice
    ]


def accepted(
    scenario: _native.Scenario, parameter: Parameter, others: Settings, companions: Companions
) -> Parameter | None:
    """Return the parameter with only the values that the scenario takes beside `others`, or None if it takes none."""

    def taken(value: str) -> bool:
        settings = {**others, parameter.key: value, **companions.get((parameter.key, value), {})}
        return takes(scenario, Space(()).overrides(scenario, settings))

    if parameter.low == parameter.high:
        values = tuple(value for value in parameter.values if taken(value))
        return replace(parameter, values=values) if values else None
    return parameter if all(taken(end) for end in parameter.ends()) else None


def shapes(scenario: _native.Scenario, shares: Sequence[float]) -> list[str]:
    """Return rates for both directions at these shares of the link's rates; none if the link has no fixed rate.

    A direction whose rate varies keeps the scenario's shaper, which autorate needs. A router lowers the rates to what
    it can do, so several shares can be one value.
    """
    link = tomllib.loads(scenario.to_toml())["link"]
    rates = {way: quantity.parse(link[way], "bit/s") for way in WAYS if way in link}
    if not rates or None in rates.values() or link["kind"] == "wifi-g":
        return []
    kept = {way: rate for way, rate in _shaped(scenario).items() if way not in rates}
    found = []
    for share in shares:
        wanted = {way: f"{(rate or 0) * share / 1e3:.0f}kbit" for way, rate in rates.items()} | kept
        try:
            shaped = _shaped(scenario.with_overrides([("gateway.shape", _table(wanted))]))
        except ScenarioError:  # a combination that the search leaves out
            shaped = wanted
        found.append(_table(shaped))
    return list(dict.fromkeys(found))


def _table(rates: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f'{way} = "{rate}"' for way, rate in rates.items()) + " }"


def _shaped(scenario: _native.Scenario) -> Mapping[str, str]:
    """Return the scenario's own shaped rates by direction."""
    shape = gateway(scenario).get("shape") or {}
    return shape if isinstance(shape, Mapping) else dict.fromkeys(WAYS, str(shape))
