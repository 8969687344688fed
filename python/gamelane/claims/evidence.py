"""Runs that claims are judged by: arms (a scenario with overrides) over common seeds, kept in memory."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamelane import _native
from gamelane.runner import each

Numbers = NDArray[np.float64]


class Unfinished(Exception):  # noqa: N818 - not an error: the runs were stopped first
    """A check needs runs that were stopped before they finished."""


@dataclass(frozen=True)
class Arm:
    """One variant of the base scenario; equal overrides are the same arm."""

    overrides: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, overrides: Mapping[str, str]) -> Arm:
        """The arm with these overrides."""
        return cls(tuple(sorted(overrides.items())))

    def with_(self, changes: Mapping[str, str]) -> Arm:
        """This arm with further overrides."""
        return Arm.of(dict(self.overrides) | dict(changes))


PLAIN = Arm(())
"""The scenario as it stands."""


@dataclass
class Evidence:
    """Runs arms of `base` on demand, each over `repeats` seeds from the scenario's seed on."""

    base: _native.Scenario
    repeats: int
    threads: int
    cancel: _native.Cancel = field(default_factory=_native.Cancel)
    on_run: Callable[[], None] = lambda: None
    _summaries: dict[Arm, list[dict[str, Any]]] = field(default_factory=dict)
    _derived: dict[tuple[Arm, str], list[Any]] = field(default_factory=dict)
    _beside: dict[str, Evidence] = field(default_factory=dict)
    _stopped: bool = False

    @property
    def seeds(self) -> list[int]:
        """Return the seeds of every arm."""
        return list(range(self.base.seed, self.base.seed + self.repeats))

    def scenario(self, arm: Arm) -> _native.Scenario:
        """Return the scenario of an arm."""
        return self.base.with_overrides(list(arm.overrides))

    def document(self, arm: Arm = PLAIN) -> dict[str, Any]:
        """Return the scenario of an arm as the tables of its file."""
        return tomllib.loads(self.scenario(arm).to_toml())

    def prepare(self, arms: list[Arm]) -> None:
        """Run many arms at once, on all threads, and keep their summaries in memory."""
        missing = [arm for arm in dict.fromkeys(arms) if arm not in self._summaries]
        jobs = [(arm, seed) for arm in missing for seed in self.seeds]
        scenarios = {arm: self.scenario(arm) for arm in missing}
        done: dict[tuple[Arm, int], dict[str, Any]] = {}
        try:
            self._each(lambda job: self._summary(scenarios[job[0]], job[1]), jobs, done)
        finally:
            for arm in missing:
                if all((arm, seed) in done for seed in self.seeds):
                    self._summaries[arm] = [done[arm, seed] for seed in self.seeds]

    def summaries(self, arm: Arm) -> list[dict[str, Any]]:
        """Return the `runs` elements of an arm, one per seed."""
        self.prepare([arm])
        return self._summaries[arm]

    def values(self, arm: Arm, path: str) -> Numbers:
        """Return one number per seed by path (`flows.quake3.rtt_ms.max`, `queues.up.drops.tail`). Null is NaN."""
        keys = path.split(".")
        return np.array([_at(summary, keys) for summary in self.summaries(arm)], dtype=float)

    def derived(
        self, arm: Arm, name: str, measure: Callable[[_native.Run], Any], *, packets: bool = False
    ) -> list[Any]:
        """Apply `measure` to each run of an arm, with its samples (and packets). Keep the results under `name`."""
        if (arm, name) not in self._derived:
            scenario = self.scenario(arm)

            def one(seed: int) -> Any:
                result = measure(self._run(scenario, seed, samples=True, packets=packets))
                self.on_run()
                return result

            done: dict[int, Any] = {}
            self._each(one, self.seeds, done)
            self._derived[arm, name] = [done[seed] for seed in self.seeds]
        return self._derived[arm, name]

    def beside(self, name: str, base: Callable[[], _native.Scenario] | None = None, *, times: int = 1) -> Evidence:
        """Return evidence of another base, or over `times` as many seeds. The same name returns the same evidence."""
        if name not in self._beside:
            scenario = self.base if base is None else base()
            own = Evidence(scenario, times * self.repeats, self.threads, self.cancel, self.on_run)
            own._stopped = self._stopped
            self._beside[name] = own
        return self._beside[name]

    def stop(self) -> None:
        """Start no more runs. From now on a missing result raises `Unfinished`."""
        self._stopped = True
        for other in self._beside.values():
            other.stop()

    def _each(self, function: Callable[[Any], Any], jobs: list[Any], done: dict[Any, Any]) -> None:
        """Put the result of each job into `done`, also if the batch is interrupted."""
        if jobs and self._stopped:
            raise Unfinished
        for job, result in each(function, jobs, threads=self.threads, cancel=self.cancel):
            done[job] = result

    def _run(self, scenario: _native.Scenario, seed: int, *, samples: bool, packets: bool = False) -> _native.Run:
        return _native.run(scenario, seed, samples=samples, packets=packets, cancel=self.cancel)

    def _summary(self, scenario: _native.Scenario, seed: int) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads(self._run(scenario, seed, samples=False).summary_json())
        self.on_run()
        return summary


def columns(run: _native.Run, table: str) -> dict[str, Any]:
    """One table of a run: numbers as floating-point arrays, words as arrays of text."""
    frame = pl.DataFrame(run.table(table))
    return {
        column.name: column.cast(pl.Float64).to_numpy() if column.dtype.is_numeric() else column.to_numpy()
        for column in frame
    }


def _at(summary: dict[str, Any], keys: list[str]) -> float:
    value: Any = summary
    for key in keys:
        value = value[key]
    return float("nan") if value is None else float(value)
