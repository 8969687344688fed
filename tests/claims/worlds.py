"""Worlds in which a claim is not true: a paper with other figures, and runs with other results.

A check that still agrees in all of them proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gamelane import _native
from gamelane.claims import Claim
from gamelane.claims.evidence import PLAIN, Arm, Evidence


@dataclass(frozen=True)
class World:
    """A wrong world: which arm runs instead of another, and what becomes of its results."""

    name: str
    arm: Callable[[Arm], Arm] = lambda arm: arm
    result: Callable[[str, Any], Any] = lambda _, result: result
    setting: Callable[[Any], Any] = lambda setting: setting
    claim: Callable[[Claim], Claim] = lambda claim: claim


def worlds() -> Iterator[World]:
    """Return the wrong worlds."""
    yield World("the paper has other figures", claim=lambda claim: replace(claim, theirs=_other(claim.theirs)))
    yield World("no override changes anything", arm=lambda _: PLAIN)
    yield World("the scenario has other settings", setting=_other)
    yield World("every number is zero", result=lambda _, result: _each_number(result, "", lambda *_: 0.0))
    for seed in range(12):
        yield World(f"other results, number {seed}", result=_scramble(seed))


def _scramble(seed: int) -> Callable[[str, Any], Any]:
    """Return a change of results: each number of each arm has its own factor and offset, the same for all runs."""

    def number(path: str, value: float) -> float:
        chance = random.Random(f"{seed} {path}")
        return float(value * 10 ** chance.uniform(-2, 2) + chance.choice([0, 0, 1, 30]))

    return lambda where, result: _each_number(result, where, number)


def _each_number(value: Any, path: str, change: Callable[[str, float], float]) -> Any:
    match value:
        case bool():
            return not value
        case dict():
            return {key: _each_number(inner, f"{path}.{key}", change) for key, inner in value.items()}
        case list() | tuple():
            # Elements of a list are runs or samples: they all change alike.
            return type(value)([_each_number(inner, f"{path}.{index}", change) for index, inner in enumerate(value)])
        case set() | frozenset():
            return {*value, "wrong"}
        case np.ndarray() if value.dtype.kind in "fiu":
            return np.array([change(path, float(each)) for each in value.ravel()]).reshape(value.shape)
        case int() | float() | np.integer() | np.floating():
            return change(path, float(value))
        case _:
            return value


def _other(value: Any) -> Any:
    """Return another value of the same form."""
    match value:
        case bool():
            return not value
        case int() | float():
            return 10 * value + 7
        case str():
            return f"not {value}"
        case list():
            return [_other(inner) for inner in value]
        case dict():
            return {key: _other(inner) for key, inner in value.items()}
        case _:
            return value


class Wrong(Evidence):
    """The runs of `right`, seen from a wrong world."""

    def __init__(self, right: Evidence, world: World) -> None:
        super().__init__(right.base, right.repeats, right.threads)
        self.right, self.world = right, world
        right.cancel = _native.Cancel()  # a measure that failed in another world has cancelled the runs

    def scenario(self, arm: Arm) -> _native.Scenario:
        return self.right.scenario(self.world.arm(arm))

    def document(self, arm: Arm = PLAIN) -> dict[str, Any]:
        found: dict[str, Any] = self.world.setting(self.right.document(self.world.arm(arm)))
        return found

    def prepare(self, arms: list[Arm]) -> None:
        self.right.prepare([self.world.arm(arm) for arm in arms])

    def summaries(self, arm: Arm) -> list[dict[str, Any]]:
        found = self.right.summaries(self.world.arm(arm))
        return [self.world.result(str(arm), summary) for summary in found]

    def derived(
        self, arm: Arm, name: str, measure: Callable[[_native.Run], Any], *, packets: bool = False
    ) -> list[Any]:
        found = self.right.derived(self.world.arm(arm), name, measure, packets=packets)
        return [self.world.result(f"{arm} {name}", each) for each in found]

    def beside(self, name: str, base: Callable[[], _native.Scenario] | None = None, *, times: int = 1) -> Evidence:
        return Wrong(self.right.beside(name, base, times=times), self.world)
