"""The search: trials in batches over the same seeds, the Pareto front, and the recommended setting.

Optuna's multi-objective TPE sampler chooses the settings, with the bounds as constraints. Trials are requested in
batches of a fixed size and reported in order, so the same sampler seed gives the same search on any number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gamelane import _native
from gamelane.analysis.stats import Estimate, Paired, paired
from gamelane.errors import UsageError
from gamelane.runner import each
from gamelane.tune.objective import Aim, Row, measure, over_seeds
from gamelane.tune.space import Settings, Space

BATCH = 8
WORST = 1e12
"""Value of a metric that a run does not have: worse than any real one."""


@dataclass(frozen=True)
class Trial:
    """One setting that was tried, with one row of results per seed."""

    number: int
    settings: Settings
    rows: tuple[Row, ...]

    def goals(self, aim: Aim) -> tuple[Estimate, ...]:
        """Return the mean of each goal over seeds."""
        return tuple(over_seeds(goal.metric, self.rows) for goal in aim.goals)

    def broken(self, aim: Aim) -> tuple[str, ...]:
        """Return the bounds that its means break."""
        means = [over_seeds(limit.metric, self.rows).mean for limit in aim.bounds]
        return tuple(
            limit.text for limit, mean in zip(aim.bounds, means, strict=True) if mean is None or not limit.within(mean)
        )


@dataclass(frozen=True)
class Found:
    """The result of a search. `before` is the unchanged scenario; `best` is None if every trial breaks a bound."""

    aim: Aim
    seeds: tuple[int, ...]
    before: Trial
    trials: tuple[Trial, ...]
    front: tuple[Trial, ...]
    best: Trial | None

    def change(self, goal: int) -> Paired:
        """Return the paired difference between the recommended setting and the unchanged scenario."""
        if self.best is None:
            raise ValueError("no trial meets the bounds")
        metric = self.aim.goals[goal].metric
        sides = [
            {seed: metric.of(row) for seed, row in zip(self.seeds, trial.rows, strict=True)}
            for trial in (self.before, self.best)
        ]
        return paired(sides[0], sides[1])


@dataclass(frozen=True)
class Effort:
    """Number of trials, and the seed of the sampler."""

    trials: int
    sampler_seed: int = 1


class Runner:
    """Runs settings of a scenario over the seeds of a search. Equal settings run once."""

    def __init__(self, scenario: _native.Scenario, seeds: Sequence[int], threads: int) -> None:
        self.scenario = scenario
        self.seeds = tuple(seeds)
        self.cancel = _native.Cancel()
        self._threads = threads
        self._known: dict[str, tuple[Row, ...]] = {}

    def rows(self, batch: Sequence[Settings]) -> list[tuple[Row, ...]]:
        """Return the rows of each setting, one per seed."""
        scenarios = [self.scenario.with_overrides(list(settings.items())) for settings in batch]
        missing = {scenario.fingerprint: scenario for scenario in scenarios if scenario.fingerprint not in self._known}
        jobs = [(name, seed) for name in missing for seed in self.seeds]
        made: dict[tuple[str, int], Row] = {}

        def run(job: tuple[str, int]) -> Row:
            return measure(missing[job[0]], job[1], self.cancel)

        for job, row in each(run, jobs, threads=self._threads, cancel=self.cancel):
            made[job] = row
        for name in missing:
            self._known[name] = tuple(made[name, seed] for seed in self.seeds)
        return [self._known[scenario.fingerprint] for scenario in scenarios]


def search(runner: Runner, space: Space, aim: Aim, effort: Effort, on_trials: Callable[[int], None]) -> Found:
    """Try settings. Ctrl-C ends the search early and returns what was found."""
    optuna = module()
    before = Trial(-1, {}, runner.rows([{}])[0])
    made: list[Trial] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna marks `multivariate`, `group` and constraints as experimental
        study = optuna.create_study(
            directions=["maximize" if goal.most else "minimize" for goal in aim.goals],
            sampler=optuna.samplers.TPESampler(
                seed=effort.sampler_seed,
                multivariate=True,
                group=True,
                constraints_func=lambda trial: trial.user_attrs[BROKEN],
            ),
        )
        try:
            while len(made) < effort.trials:
                asked = [study.ask() for _ in range(min(BATCH, effort.trials - len(made)))]
                settings = [space.suggest(trial) for trial in asked]
                for trial, chosen, rows in zip(asked, settings, runner.rows(settings), strict=True):
                    own = Trial(trial.number, chosen, rows)
                    trial.set_user_attr(BROKEN, _excess(own, aim))
                    study.tell(
                        trial, [_told(of, most=goal.most) for of, goal in zip(own.goals(aim), aim.goals, strict=True)]
                    )
                    made.append(own)
                on_trials(len(made))
        except KeyboardInterrupt:
            if not made:
                raise
    allowed = [trial for trial in made if not trial.broken(aim)]
    front = pareto(allowed, aim)
    return Found(aim, runner.seeds, before, tuple(made), tuple(front), recommended(front, aim))


def pareto(trials: Sequence[Trial], aim: Aim) -> list[Trial]:
    """Return the Pareto front, sorted by the first goal. Of trials with equal goals it keeps the first."""
    points = {trial.number: _signed(trial, aim) for trial in trials}
    kept: dict[tuple[float, ...], Trial] = {}
    for trial in trials:
        own = points[trial.number]
        beaten = any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in points.values())
        if not beaten:
            kept.setdefault(own, trial)
    return sorted(kept.values(), key=lambda trial: points[trial.number])


def recommended(front: Sequence[Trial], aim: Aim) -> Trial | None:
    """Return the trial that is best in the first goal.

    Trials within its 95 % interval count as equally good. Among those, the other goals decide.
    """
    if not front:
        return None
    first = min(front, key=lambda trial: _signed(trial, aim))
    best = first.goals(aim)[0]
    reach = _signed(first, aim)[0] + (best.ci95 or 0.0)
    near = [trial for trial in front if _signed(trial, aim)[0] <= reach]
    return min(near, key=lambda trial: (*_signed(trial, aim)[1:], _signed(trial, aim)[0]))


def module() -> Any:
    """Return Optuna, or refuse with the command that installs it."""
    try:
        import optuna  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise UsageError("tune: Optuna is not installed\n  hint:    pip install 'gamelane[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _signed(trial: Trial, aim: Aim) -> tuple[float, ...]:
    """Return each goal with a sign that makes lower better."""
    told = [_told(of, most=goal.most) for of, goal in zip(trial.goals(aim), aim.goals, strict=True)]
    return tuple(-value if goal.most else value for value, goal in zip(told, aim.goals, strict=True))


def _told(of: Estimate, *, most: bool) -> float:
    return of.mean if of.mean is not None else -WORST if most else WORST


def _excess(trial: Trial, aim: Aim) -> list[float]:
    """Return how far each bound is exceeded, as a share of the bound. Optuna reads values up to 0 as met."""
    found = []
    for limit in aim.bounds:
        mean = over_seeds(limit.metric, trial.rows).mean
        if mean is None:
            found.append(WORST)
            continue
        over = (mean - limit.bound) / max(abs(limit.bound), 1e-9)
        found.append(over if limit.operator in ("<=", "<") else -over)
    return found


BROKEN = "broken"
