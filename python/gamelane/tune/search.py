"""The search: trials in batches over the same seeds, the Pareto front, its knee, and the recommended setting.

Settings are tried in batches of a fixed size and reported in order, so the same sampler seed gives the same search on
any number of threads.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gamelane import _native
from gamelane.analysis.stats import Paired
from gamelane.errors import UsageError
from gamelane.runner import each
from gamelane.tune.choose import WORST, Trial, as_good, change, is_better, knee, pareto, recommended, signed, told
from gamelane.tune.known import around
from gamelane.tune.objective import Aim, Row, measure, over_seeds
from gamelane.tune.parameters import Settings, Space

BATCH = 8
REFINED = 0.25
"""Share of the trials that are neighbours of the best of the others."""


@dataclass(frozen=True)
class Found:
    """The result of a search. `before` is the unchanged scenario.

    `best` is None if no setting is clearly better. If the unchanged scenario breaks a bound, `best` is the best setting
    that meets all bounds; None if none does. `beyond` is a setting that is clearly better than `best` in the first
    goal, but that the lines do not express. `is_expressed` says whether they express `best`. `unsure` is what would be
    `best` if its first goal, better in every run, were clearly better.
    """

    aim: Aim
    interrupted: bool
    seeds: tuple[int, ...]
    before: Trial
    trials: tuple[Trial, ...]
    front: tuple[Trial, ...]
    best: Trial | None
    beyond: Trial | None = None
    is_expressed: bool = True
    unsure: Trial | None = None

    @property
    def knee(self) -> Trial | None:
        """The knee of the front (`choose.knee`)."""
        return knee(self.front, self.aim)

    @property
    def forbidden(self) -> Trial | None:
        """The setting that is clearly better than today and best in the first goal, though it breaks a bound."""
        found = [trial for trial in self.trials if trial.breaks(self.aim) and self.is_better(trial)]
        return min(found, key=lambda trial: signed(trial, self.aim), default=None)

    def is_better(self, trial: Trial) -> bool:
        """Return whether a trial is clearly better than the unchanged scenario."""
        return is_better(trial, self.before, self.aim, self.seeds)

    def change(self, trial: Trial, goal: int) -> Paired:
        """Return the paired difference between a trial and the unchanged scenario."""
        return change(trial, self.before, self.aim.goals[goal], self.seeds)


@dataclass(frozen=True)
class Effort:
    """Number of trials, settings to try first, the settings to recommend if one is good, and the sampler's seed."""

    trials: int
    known: tuple[Settings, ...] = ()
    prefers: Callable[[Settings], bool] = lambda _: True
    sampler_seed: int = 1


class Runner:
    """Runs settings of a scenario over the seeds of a search. Equal settings run once."""

    def __init__(self, scenario: _native.Scenario, space: Space, seeds: Sequence[int], threads: int) -> None:
        self.scenario = scenario
        self.space = space
        self.seeds = tuple(seeds)
        self.cancel = _native.Cancel()
        self._threads = threads
        self._known: dict[str, tuple[Row, ...]] = {}

    def rows(self, batch: Sequence[Settings]) -> list[tuple[Row, ...]]:
        """Return the rows of each setting, one per seed."""
        scenarios = [self.space.applied(self.scenario, settings) for settings in batch]
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


def search(runner: Runner, aim: Aim, effort: Effort, on_trials: Callable[[int], None]) -> Found:
    """Try the known settings, then those that the sampler proposes, then the neighbours of the best.

    Ctrl-C ends the search early and returns what was found.
    """
    sampler = Sampler(runner.space, aim, effort)
    before = Trial(-1, {}, runner.rows([{}])[0])
    made: list[Trial] = []
    interrupted = False
    try:
        while len(made) < effort.trials:
            count = min(BATCH, effort.trials - len(made))
            refines = len(made) >= effort.trials * (1 - REFINED)
            batch = _neighbours(runner.space, aim, made, effort)[:count] if refines else []
            asked = [] if batch else sampler.ask(count)
            batch = batch or [settings for _, settings in asked]
            numbers = range(len(made), len(made) + len(batch))
            new = [Trial(*of) for of in zip(numbers, batch, runner.rows(batch), strict=True)]
            sampler.tell([(trial, own) for (trial, _), own in zip(asked, new, strict=False)])
            made += new
            on_trials(len(made))
    except KeyboardInterrupt:
        if not made:
            raise
        interrupted = True
    is_enough = before.breaks(aim) == ()
    bests = [recommended(of, aim) for of in (_preferred(made, effort), made)]
    better = [each for each in bests if each and not (is_enough and not is_better(each, before, aim, runner.seeds))]
    best = better[0] if better else None
    front = pareto([trial for trial in made if not trial.breaks(aim)], aim)
    unsure = next((each for each in bests if each and _is_unsure(each, before, aim, runner.seeds)), None)
    is_expressed = best is None or effort.prefers(best.settings)
    beyond = _beyond(best, bests[1], aim, effort, runner.seeds) if best is not None and is_expressed else None
    found = Found(aim, interrupted, runner.seeds, before, tuple(made), tuple(front), best, beyond, is_expressed)
    return found if best is not None else replace(found, unsure=unsure)


def _is_unsure(trial: Trial, before: Trial, aim: Aim, seeds: Sequence[int]) -> bool:
    """Return whether the first goal of a trial is better in every run, but not clearly."""
    lower = signed(trial, aim)[0] < signed(before, aim)[0] and not as_good(trial, before, aim, 0)
    found = change(trial, before, aim.goals[0], seeds)
    return lower and found.pairs == len(seeds) > 1 and found.agree == 1 and not found.clear


def _preferred(made: Sequence[Trial], effort: Effort) -> list[Trial]:
    return [trial for trial in made if effort.prefers(trial.settings)]


def _beyond(best: Trial, of_all: Trial | None, aim: Aim, effort: Effort, seeds: Sequence[int]) -> Trial | None:
    """Return the best of all trials if its first goal is clearly better than that of `best` and no lines express it."""
    if of_all is None or effort.prefers(of_all.settings):
        return None
    return of_all if is_better(of_all, best, Aim(aim.goals[:1], aim.bounds), seeds) else None


def _neighbours(space: Space, aim: Aim, made: Sequence[Trial], effort: Effort) -> list[Settings]:
    """Return the neighbours of the best trial that were not tried, the preferred ones first."""
    best = recommended(_preferred(made, effort), aim) or recommended(made, aim)
    tried = [trial.settings for trial in made]
    found = [] if best is None else [settings for settings in around(space, best.settings) if settings not in tried]
    return sorted(found, key=lambda settings: not effort.prefers(settings))


class Sampler:
    """Proposes the known settings, then those of Optuna's multi-objective TPE with the bounds as constraints."""

    def __init__(self, space: Space, aim: Aim, effort: Effort) -> None:
        self._space = space
        self._aim = aim
        self._first = effort.known
        self._prefers = effort.prefers
        optuna = module()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna marks `multivariate`, `group` and constraints as experimental
            self._study = optuna.create_study(
                directions=["maximize" if goal.most else "minimize" for goal in aim.goals],
                sampler=optuna.samplers.TPESampler(
                    seed=effort.sampler_seed,
                    multivariate=True,
                    group=True,
                    constraints_func=lambda trial: trial.user_attrs[BROKEN],
                ),
            )
            for settings in self._first:
                self._study.enqueue_trial(space.choices(settings))

    def ask(self, count: int) -> list[tuple[Any, Settings]]:
        """Return trials of Optuna with their settings."""
        asked = [self._study.ask() for _ in range(count)]
        only = [self._first[trial.number] if trial.number < len(self._first) else None for trial in asked]
        return [(trial, self._space.suggest(trial, of)) for trial, of in zip(asked, only, strict=True)]

    def tell(self, results: Sequence[tuple[Any, Trial]]) -> None:
        """Tell Optuna what its trials gave."""
        for trial, own in results:
            dislike = 0.0 if self._prefers(own.settings) else 1.0
            trial.set_user_attr(BROKEN, [*_excess(own, self._aim), dislike])
            goals = zip(own.goals(self._aim), self._aim.goals, strict=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._study.tell(trial, [told(of, most=goal.most) for of, goal in goals])


def module() -> Any:
    """Return Optuna, or refuse with the command that installs it."""
    try:
        import optuna  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise UsageError(
            f"tune: Optuna is not installed\n  hint:    {sys.executable} -m pip install 'optuna>=4'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


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
