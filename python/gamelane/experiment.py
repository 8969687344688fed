"""Scenarios to run, for the library and the command.

results = gamelane.load("household").with_({"link.up": "2mbit"}).run(seeds=5)
queues = gamelane.compare(gamelane.load("household"), {"fifo": {"gateway.up.queue": "fifo"}, "as is": {}})
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gamelane import _native, host, library
from gamelane.errors import Interrupted, UsageError
from gamelane.interrupts import postponed
from gamelane.records.results import ALONE, Flow, Results, Variant
from gamelane.runner import Batch, Job, Keep, run_all

if TYPE_CHECKING:
    import polars as pl

Value = str | int | float
Overrides = Mapping[str, Value]


@dataclass(frozen=True)
class Experiment:
    """A scenario that has been read and checked."""

    scenario: _native.Scenario
    file: str
    """Path or name, as a person gave it."""
    path: str = ""
    """Path of the file. Paths in the scenario start in its folder."""

    def with_(self, overrides: Overrides | None = None, /, **keys: Value) -> Experiment:
        """Change keys of the scenario, with values as its file writes them: `with_({"link.up": "2mbit"})`."""
        return replace(self, scenario=self.scenario.with_overrides(_pairs({**(overrides or {}), **keys})))

    def run(self, *, seeds: int | Sequence[int] = 1, threads: int | None = None, hooks: Hooks | None = None) -> Results:
        """Run once per seed. A number of seeds starts at the scenario's own seed; a list gives them exactly."""
        return _execute(self, {ALONE: ({}, self.scenario)}, seeds=seeds, threads=threads, hooks=hooks)


@dataclass(frozen=True)
class Hooks:
    """Callbacks and options of a batch. `keep` says what is kept of a simulated run: less takes less time."""

    on_run: Callable[[Job, _native.Run], None] | None = None
    on_done: Callable[[int], None] | None = None
    keep: Keep = "tables"
    command: tuple[str, ...] = ()
    engine: Engine | None = None


@dataclass(frozen=True)
class Engine:
    """An engine other than the simulator: its name, a function that runs jobs, and caveats for its results.

    `host` is what differs from this machine, if it runs in a guest.
    """

    name: str
    run_all: Callable[[Sequence[Job]], Batch]
    caveats: tuple[str, ...] = ()
    host: Mapping[str, str] = field(default_factory=dict)


def load(path_or_name: str | os.PathLike[str] | None = None, presets: Overrides | None = None) -> Experiment:
    """Read a scenario file, or a shipped scenario or household by its name, and put presets into it.

    `presets` has the words `plan`, `with` (names joined by commas), `policy` and `router`. Without a scenario they make
    one: `load(presets={"plan": "cable-250-20", "with": "valorant,netflix-4k"})`.
    """
    words = _pairs(presets or {})
    if path_or_name is None:
        return Experiment(_native.Scenario.parse("", HOME, words), HOME, HOME)
    given = os.fspath(path_or_name)
    text, path = library.source(given)
    return Experiment(_native.Scenario.parse(text, str(path), words), given, str(path))


HOME = "home"
"""Name of a scenario that is made of presets alone."""


def compare(
    experiment: Experiment,
    variants: Mapping[str, Overrides],
    *,
    seeds: int | Sequence[int] = 1,
    threads: int | None = None,
    hooks: Hooks | None = None,
) -> Results:
    """Run several variants of a scenario with the same seeds. Each variant maps keys to new values."""
    if not variants:
        raise UsageError("`variants` is empty; a comparison needs at least one variant")
    checked = {}
    for name, overrides in variants.items():
        pairs = _pairs(overrides)
        checked[name] = (dict(pairs), experiment.scenario.with_overrides(pairs))
    return _execute(experiment, checked, seeds=seeds, threads=threads, hooks=hooks)


def seeds_of(experiment: Experiment, seeds: int | Sequence[int]) -> list[int]:
    """Return the list of seeds. A count starts at the scenario's own seed."""
    if isinstance(seeds, int):
        if seeds < 1:
            raise UsageError(f"`seeds` is {seeds}; it must be at least one")
        return [experiment.scenario.seed + offset for offset in range(seeds)]
    chosen = list(dict.fromkeys(seeds))
    if not chosen:
        raise UsageError("`seeds` is an empty list, so there is no seed to run; give at least one")
    return chosen


def _pairs(overrides: Overrides) -> list[tuple[str, str]]:
    return [(key, _written(value)) for key, value in overrides.items()]


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _execute(
    experiment: Experiment,
    variants: Mapping[str, tuple[dict[str, str], _native.Scenario]],
    *,
    seeds: int | Sequence[int],
    threads: int | None,
    hooks: Hooks | None,
) -> Results:
    hooks = hooks or Hooks()
    numbers = seeds_of(experiment, seeds)
    jobs = [Job(name, scenario, seed) for name, (_, scenario) in variants.items() for seed in numbers]
    with postponed() as ctrl_c:
        if hooks.engine is not None:
            batch = hooks.engine.run_all(jobs)
        else:
            batch = run_all(
                jobs,
                threads=host.cores() if threads is None else threads,
                keep=hooks.keep,
                on_run=hooks.on_run,
                on_done=hooks.on_done,
            )
        results = _gather(experiment, variants, batch, len(jobs), hooks) if batch.finished else None
    if batch.interrupted or ctrl_c.heard:
        raise Interrupted(results, len(batch.finished), len(jobs))
    if results is None:
        raise RuntimeError("no run finished, but none failed and none was interrupted: this is a bug")
    return results


def _gather(
    experiment: Experiment,
    variants: Mapping[str, tuple[dict[str, str], _native.Scenario]],
    batch: Batch,
    planned: int,
    hooks: Hooks,
) -> Results:
    base, engine = experiment.scenario, hooks.engine
    said = engine.caveats if engine is not None else ()
    return Results(
        name=base.name,
        question=base.question,
        file=experiment.file,
        hash=base.hash,
        duration_s=base.duration_s,
        warmup_s=base.warmup_s,
        engine="sim" if engine is None else engine.name,
        variants=tuple(
            Variant(
                name=name,
                overrides=overrides,
                toml=scenario.to_toml(),
                hash=scenario.hash,
                flows=tuple(replace(flow, caveats=(*flow.caveats, *said)) for flow in flows(scenario)),
                runs=tuple(done.record for done in batch.finished if done.job.variant == name),
                caveats=tuple(scenario.caveats),
            )
            for name, (overrides, scenario) in variants.items()
            if any(done.job.variant == name for done in batch.finished)
        ),
        planned_runs=planned,
        frames=_joined(batch),
        host={**host.describe(), **(engine.host if engine is not None else {})},
        command=hooks.command,
    )


def _joined(batch: Batch) -> dict[str, pl.DataFrame]:
    frames = [done.frames for done in batch.finished]
    if not all(frames):
        return {}
    from gamelane.records.frames import joined  # noqa: PLC0415 - Polars loads slowly, and a summary needs none

    return joined(frames)


def flows(scenario: _native.Scenario) -> tuple[Flow, ...]:
    """Return the flows of a scenario. The label of a flow says if its numbers are estimates."""
    return tuple(
        Flow(
            name=flow["name"],
            app=flow["app"],
            label=flow["label"] + (f" [{ESTIMATE}]" if flow["provenance"] == ESTIMATE else ""),
            start_s=flow["start_s"],
            caveats=tuple(flow["caveats"]),
        )
        for flow in scenario.flows()
    )


ESTIMATE = "estimate"
"""Label of numbers that nobody measured or published (`[source]` of models/README.md)."""
