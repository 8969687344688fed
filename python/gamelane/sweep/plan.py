"""Plans the runs of a sweep: checks every combination, and gives each run an id before the first run starts.

The id is a hash of everything that determines the result: the model with the files it reads, the seed, and gamelane's
version. A finished run is therefore recognised on any machine, even if other parts of the sweep file change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gamelane import _native, experiment, quantity
from gamelane.analysis.flatten import flatten
from gamelane.analysis.metrics import Metric, UnknownMetric, find, metrics
from gamelane.errors import ScenarioError
from gamelane.sweep.axes import label
from gamelane.sweep.budget import Budget, Limit
from gamelane.sweep.file import Sweep


@dataclass(frozen=True)
class Cell:
    """One combination of the grid."""

    values: Mapping[str, str]
    fingerprint: str


@dataclass(frozen=True)
class PlannedRun:
    """One run: its id, the cell it belongs to, and its seed."""

    id: str
    cell: int
    seed: int


@dataclass(frozen=True)
class Plan:
    """A sweep, its cells, and its runs, in the order of the grid and then of the seeds."""

    sweep: Sweep
    cells: tuple[Cell, ...]
    runs: tuple[PlannedRun, ...]
    metrics: Mapping[str, Metric]
    limits: tuple[Limit, ...]
    flows: tuple[Mapping[str, str], ...]
    caveats: tuple[str, ...] = field(default=())

    @cached_property
    def identity(self) -> str:
        """Return a hash of runs and cells. Plots, budgets and texts do not change it."""
        text = json.dumps([[cell.values for cell in self.cells], [run.id for run in self.runs]], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def make(sweep: Sweep) -> Plan:
    """Check every combination against the scenario, and list its runs."""
    base = _base(sweep)
    cells: list[Cell] = []
    caveats: dict[str, None] = {}
    flows: dict[str, dict[str, str]] = {}
    for values in sweep.grid.cells():
        scenario = _scenario(sweep, base, values)
        cells.append(Cell(values, scenario.fingerprint))
        caveats.update(dict.fromkeys(scenario.caveats))
        for flow in experiment.flows(scenario):
            caveats.update(dict.fromkeys(flow.caveats))
            known = flows.setdefault(flow.name, {"name": flow.name, "app": flow.app, "label": flow.label})
            if flow.label not in known["label"].split(" or "):
                known["label"] += f" or {flow.label}"
    runs = [
        PlannedRun(run_id(cell.fingerprint, seed), index, seed)
        for index, cell in enumerate(cells)
        for seed in sweep.seeds
    ]
    measurable = metrics(_columns(sweep, base, cells))
    limits = tuple(_limit(sweep, budget, measurable) for budget in sweep.budgets)
    for plot in sweep.plots:
        if plot.metric is not None and plot.kind != "box":
            _metric(sweep, f"plot.{plot.name}.metric", plot.metric, measurable)
    return Plan(sweep, tuple(cells), tuple(runs), measurable, limits, tuple(flows.values()), tuple(caveats))


def run_id(fingerprint: str, seed: int) -> str:
    """Return the id of a run: the same on every machine with this version of gamelane."""
    text = f"gamelane {_native.version()}\n{fingerprint}\n{seed}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def overrides(sweep: Sweep, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the overrides that turn the base into the scenario of a cell."""
    return [*sweep.settings.items(), *values.items()]


def _base(sweep: Sweep) -> _native.Scenario:
    settings = sweep.settings
    if not settings:
        return sweep.base
    try:
        return sweep.base.with_overrides(list(settings.items()))
    except ScenarioError as refusal:
        key = _named(settings, refusal) or next(iter(settings))
        raise sweep.source.from_scenario(f"set.{key}", settings[key], refusal) from None


def _scenario(sweep: Sweep, base: _native.Scenario, values: Mapping[str, str]) -> _native.Scenario:
    try:
        return base.with_overrides(list(values.items()))
    except ScenarioError as refusal:
        raise _refused(sweep, base, values, refusal) from None


def _refused(
    sweep: Sweep, base: _native.Scenario, values: Mapping[str, str], refusal: ScenarioError
) -> ScenarioError | ValueError:
    """Refuse the value of an axis if no combination accepts it, else the combination."""
    for axis in sweep.grid.axes:
        own = {key: values[key] for key in axis.keys}
        key = _named(own, refusal)
        if key is not None and not _accepted_somewhere(sweep, base, own):
            table = "axes" if len(own) == 1 else "linked"
            return sweep.source.from_scenario(f"{table}.{key}", own[key], refusal)
    key = _named(values, refusal) or next(iter(values))
    return sweep.source.from_scenario(
        f"axes.{key}", f"the combination {label(values)}", refusal, hint="[[skip]] removes combinations"
    )


def _named(settings: Mapping[str, str], refusal: ScenarioError) -> str | None:
    """Return the key that a refusal is about."""
    return next((key for key in settings if f" {key}=" in refusal.file), None)


def _accepted_somewhere(sweep: Sweep, base: _native.Scenario, own: Mapping[str, str]) -> bool:
    for cell in sweep.grid.cells():
        if own.items() <= cell.items():
            try:
                base.with_overrides(list(cell.items()))
            except ScenarioError:
                continue
            return True
    return False


def _columns(sweep: Sweep, base: _native.Scenario, cells: Iterable[Cell]) -> list[str]:
    """Return the columns of this sweep's runs, from a short run for each distinct set of flows."""
    columns: dict[str, None] = {}
    seen: set[tuple[str, ...]] = set()
    for cell in cells:
        scenario = base.with_overrides(list(cell.values.items()))
        flows = tuple(f"{flow['name']}/{flow['app']}" for flow in scenario.flows())
        if flows in seen:
            continue
        seen.add(flows)
        moment = scenario.with_overrides([("warmup", "0s"), ("duration", MOMENT)])
        summary = json.loads(_native.run(moment, sweep.seeds[0], samples=False).summary_json())
        del summary["seed"]
        columns.update(dict.fromkeys(flatten(summary)))
    return list(columns)


def _limit(sweep: Sweep, budget: Budget, known: Mapping[str, Metric]) -> Limit:
    key = f"budget.{budget.metric}"
    metric = _metric(sweep, key, budget.metric, known)
    bound = quantity.parse(budget.bound, metric.unit)
    if bound is None:
        raise sweep.source.refuse(
            key,
            f"`{budget.bound}` is not a bound for this metric",
            given=f"{budget.operator} {budget.bound}",
            allowed=f"{budget.operator} {quantity.example(metric.unit)}",
        )
    return Limit(budget.text, metric, budget.operator, bound)


def _metric(sweep: Sweep, key: str, name: str, known: Mapping[str, Metric]) -> Metric:
    try:
        return find(name, known)
    except UnknownMetric as unknown:
        flow = name.rpartition("(")[2].partition(".")[0]
        near = [word for word in unknown.known if flow and flow in word] or unknown.known
        raise sweep.source.refuse(
            key, str(unknown), allowed=", ".join(near[:40]) + (", …" if len(near) > 40 else ""), hint=unknown.hint
        ) from None


MOMENT = "1s"
"""Duration of such a run: enough to see which numbers a summary has."""
