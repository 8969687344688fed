"""Selects from the trials of a search: the Pareto front, its knee, and the setting to recommend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gamelane.analysis.stats import Estimate, Paired, paired
from gamelane.sweep.budget import Limit
from gamelane.tune.objective import Aim, Goal, Row, over_seeds
from gamelane.tune.parameters import Settings

AS_GOOD = 0.05
"""Relative difference up to which two values of a goal count as equally good (our choice)."""
AS_GOOD_SHARE = 0.01
"""The same for shares, which may be near 0."""
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

    def breaks(self, aim: Aim) -> tuple[Limit, ...]:
        """Return the bounds that its means break."""
        means = [over_seeds(limit.metric, self.rows).mean for limit in aim.bounds]
        return tuple(
            limit for limit, mean in zip(aim.bounds, means, strict=True) if mean is None or not limit.within(mean)
        )


def pareto(trials: Sequence[Trial], aim: Aim) -> list[Trial]:
    """Return the Pareto front, sorted by the first goal. Of trials with equal goals it keeps the first."""
    points = {trial.number: signed(trial, aim) for trial in trials}
    kept: dict[tuple[float, ...], Trial] = {}
    for trial in trials:
        own = points[trial.number]
        beaten = any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in points.values())
        if not beaten:
            kept.setdefault(own, trial)
    return sorted(kept.values(), key=lambda trial: points[trial.number])


def knee(front: Sequence[Trial], aim: Aim) -> Trial | None:
    """Return the point of a front of two goals that is farthest below the line between its ends; None without one.

    Both goals are scaled to 0..1 between the ends (Satopaa et al., "Finding a kneedle in a haystack", 2011).
    """
    points = [signed(trial, aim)[:2] for trial in front]
    if len(points) < 3 or len(points[0]) < 2:
        return None
    (x0, y0), (x1, y1) = points[0], points[-1]

    def below(point: tuple[float, ...]) -> float:
        return 1 - (point[0] - x0) / (x1 - x0) - (point[1] - y1) / (y0 - y1)

    farthest = max(range(len(points)), key=lambda index: below(points[index]))
    return front[farthest] if below(points[farthest]) > 0 else None


def recommended(trials: Sequence[Trial], aim: Aim) -> Trial | None:
    """Return the best trial that meets the bounds: goal by goal, keeps those as good as the best; then the simplest."""
    left = [trial for trial in trials if not trial.breaks(aim)]
    for index in range(len(aim.goals)):
        best = min((signed(trial, aim)[index] for trial in left), default=0.0)
        left = [trial for trial in left if signed(trial, aim)[index] <= best + _tolerance(best, aim.goals[index])]
    return min(left, key=lambda trial: (complexity(trial.settings), trial.number), default=None)


def is_better(trial: Trial, before: Trial, aim: Aim, seeds: Sequence[int]) -> bool:
    """Return whether a trial clearly improves the first goal in which the two are not as good as each other."""
    for index, goal in enumerate(aim.goals):
        if not as_good(trial, before, aim, index):
            own, other = (signed(each, aim)[index] for each in (trial, before))
            return own < other and (len(seeds) == 1 or change(trial, before, goal, seeds).clear)
    return False


def as_good(trial: Trial, before: Trial, aim: Aim, index: int) -> bool:
    """Return whether the two are as good as each other in one goal."""
    own, other = (signed(each, aim)[index] for each in (trial, before))
    return abs(own - other) <= _tolerance(other, aim.goals[index])


def change(trial: Trial, before: Trial, goal: Goal, seeds: Sequence[int]) -> Paired:
    """Return the paired difference between a trial and the unchanged scenario."""
    sides = [
        {seed: goal.metric.of(row) for seed, row in zip(seeds, each.rows, strict=True)} for each in (before, trial)
    ]
    return paired(sides[0], sides[1])


def complexity(settings: Settings) -> int:
    """Return the number of settings. VoAP counts more: no kernel has it."""
    return len(settings) + (10 if settings.get("gateway.voap", "false") != "false" else 0)


def _tolerance(value: float, goal: Goal) -> float:
    """Return the difference up to which two values of a goal count as equally good."""
    return max(AS_GOOD * abs(value), AS_GOOD_SHARE if goal.metric.unit == "share" else 0.0)


def signed(trial: Trial, aim: Aim) -> tuple[float, ...]:
    """Return each goal with a sign that makes lower better."""
    values = [told(of, most=goal.most) for of, goal in zip(trial.goals(aim), aim.goals, strict=True)]
    return tuple(-value if goal.most else value for value, goal in zip(values, aim.goals, strict=True))


def told(of: Estimate, *, most: bool) -> float:
    """Return the mean of a goal, or the worst value if no run has one."""
    return of.mean if of.mean is not None else -WORST if most else WORST
