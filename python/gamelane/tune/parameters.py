"""A search space: keys with their values or ranges. Some keys apply only beside a value of another key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gamelane import _native, quantity
from gamelane.errors import ScenarioError

QUEUE = "gateway.*.queue"
ACKS = "gateway.*.acks"
SHAPE = "gateway.shape"
WAYS = ("up", "down")
QUANTITY = quantity.NUMBER_AND_UNIT

Settings = dict[str, str]
"""Values of keys as a scenario takes them."""


@dataclass(frozen=True)
class Parameter:
    """A key and its values: one of `values`, or a number of `unit` from `low` to `high`.

    A key has several parameters if its values depend on another key: CAKE takes other values of `acks` than PRIORITY.
    """

    key: str
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    log: bool = False
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the parameter, which differs between the parameters of a key."""
        return " ".join([self.key, *(f"{key}={','.join(of)}" for key, of in self.when.items())])

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

    def number(self, text: str) -> float | int | None:
        """Return a value of the range as a number; None if it is outside."""
        match = QUANTITY.fullmatch(text)
        if match is None or match[2] != self.unit or not self.low <= float(match[1]) <= self.high:
            return None
        return int(match[1]) if self.whole else float(match[1])

    def ends(self) -> tuple[str, ...]:
        """Return the values that show whether a scenario takes this key."""
        return self.values or (self.text(self.low), self.text(self.high))


def range_of(key: str, low: re.Match[str], high: re.Match[str], *, log: bool) -> Parameter:
    """Return a parameter from one quantity to another of the same unit."""
    return Parameter(key, (), float(low[1]), float(high[1]), high[2], log and float(low[1]) > 0)


@dataclass(frozen=True)
class Space:
    """Parameters in an order in which each follows the one it depends on, and overrides that every setting gets."""

    parameters: tuple[Parameter, ...]
    kept: tuple[tuple[str, str], ...] = ()
    """Overrides for each setting beside which the scenario takes them."""

    def suggest(self, trial: Any, only: Settings | None = None) -> Settings:
        """Return the settings that an Optuna trial chooses, or of the keys in `only` if given."""
        settings: Settings = {}
        for parameter in self.parameters:
            if not parameter.applies(settings) or (only is not None and parameter.key not in only):
                continue
            if parameter.values:
                settings[parameter.key] = str(trial.suggest_categorical(parameter.name, parameter.values))
            elif parameter.whole:
                low, high = int(parameter.low), int(parameter.high)
                number = trial.suggest_int(parameter.name, low, high, log=parameter.log)
                settings[parameter.key] = parameter.text(number)
            else:
                number = trial.suggest_float(parameter.name, parameter.low, parameter.high, log=parameter.log)
                settings[parameter.key] = parameter.text(number)
        return settings

    def choices(self, settings: Settings) -> dict[str, str | float] | None:
        """Return the values of the parameters that give these settings; None if the space does not have them."""
        chosen: dict[str, str | float] = {}
        keys = set()
        for parameter in self.parameters:
            value = settings.get(parameter.key)
            if value is None or not parameter.applies(settings):
                continue
            of = parameter.number(value) if not parameter.values else value if value in parameter.values else None
            if of is None:
                return None
            chosen[parameter.name] = of
            keys.add(parameter.key)
        return chosen if keys == settings.keys() else None

    def values(self, key: str) -> list[str]:
        """Return the values of a key."""
        return list(
            dict.fromkeys(value for parameter in self.parameters if parameter.key == key for value in parameter.values)
        )

    def required(self, settings: Settings) -> Settings:
        """Return the keys with a single value beside these settings: a queue with classes needs its list of games."""
        found = [each for each in self.parameters if len(each.values) == 1 and each.applies(settings)]
        return {each.key: each.values[0] for each in found if each.key not in settings}

    def overrides(self, scenario: _native.Scenario, settings: Settings) -> list[tuple[str, str]]:
        """Return the overrides for these settings. Another queue than the scenario's comes with its own defaults."""
        queue = settings.get(QUEUE)
        if queue is None or all(kind == queue for kind in _queues(scenario)):
            found = list(settings.items())
        else:
            others = [(key, value) for key, value in settings.items() if key != QUEUE]
            found = [("gateway.*", f'{{ queue = "{queue}" }}'), *others]
        for kept in self.kept:
            if takes(scenario, [*found, kept]):
                found.append(kept)
        return found

    def applied(self, scenario: _native.Scenario, settings: Settings) -> _native.Scenario:
        """Return the scenario with these settings."""
        return scenario.with_overrides(self.overrides(scenario, settings))


def takes(scenario: _native.Scenario, overrides: Sequence[tuple[str, str]]) -> bool:
    """Return whether the scenario takes these overrides."""
    try:
        scenario.with_overrides(list(overrides))
    except ScenarioError:
        return False
    return True


def _queues(scenario: _native.Scenario) -> list[str]:
    return [str(gateway(scenario)[way].get("queue", "fifo")) for way in WAYS]


def gateway(scenario: _native.Scenario) -> Mapping[str, Any]:
    """Return the table `gateway` of a scenario."""
    table: Mapping[str, Any] = tomllib.loads(scenario.to_toml())["gateway"]
    return table
