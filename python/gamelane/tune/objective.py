"""Goals of a search (metrics to minimise or maximise) and bounds that a setting must meet."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gamelane import _native, quantity
from gamelane.analysis.flatten import flatten
from gamelane.analysis.metrics import Metric, UnknownMetric, find
from gamelane.analysis.stats import Estimate, estimate
from gamelane.errors import UsageError
from gamelane.sweep.budget import Limit

GOAL = re.compile(r"\s*(min|max)\s+(\S.*?)\s*")
BOUND = re.compile(r"\s*(\S.*?)\s*(<=|<|>=|>)\s*(\S.*?)\s*")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Goal:
    """A metric to minimise, or to maximise if `most`."""

    metric: Metric
    most: bool

    @property
    def text(self) -> str:
        """As a person writes it."""
        return f"{'max' if self.most else 'min'} {self.metric.name}"


@dataclass(frozen=True)
class Aim:
    """Goals, the most important first, and bounds."""

    goals: tuple[Goal, ...]
    bounds: tuple[Limit, ...]


@dataclass(frozen=True)
class Wishes:
    """Goals and bounds as written."""

    goals: Sequence[str] = ()
    bounds: Sequence[str] = ()


def measure(scenario: _native.Scenario, seed: int, cancel: _native.Cancel) -> Row:
    """Run once and return the numbers of the summary."""
    summary = json.loads(_native.run(scenario, seed, samples=False, cancel=cancel).summary_json())
    del summary["seed"]
    return flatten(summary)


def over_seeds(metric: Metric, rows: Sequence[Row]) -> Estimate:
    """Return the mean over seeds with its interval."""
    return estimate([metric.of(row) for row in rows])


def aim(known: Mapping[str, Metric], wishes: Wishes, usual: Aim) -> Aim:
    """Read goals and bounds. Those of `usual` stand in for what was not given."""
    goals = tuple(_goal(text, known) for text in wishes.goals)
    bounds = tuple(_bound(text, known) for text in wishes.bounds)
    return Aim(goals or usual.goals, bounds or usual.bounds)


def _goal(text: str, known: Mapping[str, Metric]) -> Goal:
    match = GOAL.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--goal {text}: not a goal\n  allowed: for example 'min p99(game.rtt)' or 'max upload.goodput'"
        )
    return Goal(_metric(f"--goal {text}", match[2], known), match[1] == "max")


def _bound(text: str, known: Mapping[str, Metric]) -> Limit:
    match = BOUND.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--bound {text}: not a bound\n  allowed: for example 'upload.goodput >= 0.8mbit' or 'game.loss <= 1%'"
        )
    metric = _metric(f"--bound {text}", match[1], known)
    value = quantity.parse(match[3], metric.unit)
    if value is None:
        raise UsageError(
            f"--bound {text}: `{match[3]}` is not a bound for this metric\n"
            f"  allowed: for example {quantity.example(metric.unit)}"
        )
    return Limit(text, metric, match[2], value)


def _metric(option: str, name: str, known: Mapping[str, Metric]) -> Metric:
    try:
        return find(name, known)
    except UnknownMetric as unknown:
        hint = f"\n  hint:    {unknown.hint}" if unknown.hint else ""
        some = [word for word in unknown.known if "(" not in word or word.startswith("p99")]
        raise UsageError(f"{option}: {unknown}\n  allowed: {', '.join(some[:30])}, …{hint}") from None
