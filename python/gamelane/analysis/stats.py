"""Means over runs with 95 % intervals (docs/statistics.md).

Each run gives one number; Student's t is applied over the runs. Samples of different runs are never pooled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95
Z95 = 1.959964
"""Half-width of the 95 % interval of the normal distribution, in standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and the half-width of its 95 % interval; None if too few runs have a value."""

    mean: float | None
    ci95: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the `{mean, ci95}` of the JSON output."""
        return {"mean": self.mean, "ci95": self.ci95}


def estimate(values: Sequence[float | None]) -> Estimate:
    """Return mean and 95 % half-width of one value per run. Runs without a value (None, NaN) do not count."""
    known = [float(value) for value in values if value is not None and not math.isnan(value)]
    n = len(known)
    if n == 0:
        return Estimate(None, None)
    mean = math.fsum(known) / n
    if n == 1:
        return Estimate(mean, None)
    variance = math.fsum((value - mean) ** 2 for value in known) / (n - 1)
    return Estimate(mean, t_quantile(n - 1) * math.sqrt(variance / n))


def t_quantile(degrees: int) -> float:
    """Return the two-sided 95 % quantile of Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415 - loads slowly, and one run needs no interval

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def over_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Replace every number of equally shaped dictionaries by its `{mean, ci95}`. Strings stay as they are."""
    return {key: _leaf([run.get(key) for run in runs]) for key in runs[0]}


def _leaf(values: Sequence[Any]) -> Any:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, Mapping):
        return over_runs([value for value in values if value is not None])
    if isinstance(first, str):
        return first
    return estimate(values).as_json()


@dataclass(frozen=True)
class Paired:
    """The change from one arm to another over the seeds that both were run with.

    `effect` is the mean difference over the standard deviation of the differences, with Hedges' correction for few
    pairs; None if there are too few pairs or no spread. `agree` is the share of pairs that changed in the direction of
    the mean.
    """

    pairs: int
    difference: Estimate
    effect: float | None
    agree: float | None

    @property
    def clear(self) -> bool:
        """Return whether the interval of the difference excludes zero."""
        of = self.difference
        return of.mean is not None and of.ci95 is not None and abs(of.mean) > of.ci95


def paired(before: Mapping[int, float | None], after: Mapping[int, float | None]) -> Paired:
    """Compare two arms with one value per seed: `after` minus `before`, over the seeds where both have a value."""
    seeds = sorted(before.keys() & after.keys())
    known = [(before[seed], after[seed]) for seed in seeds]
    differences = [b - a for a, b in known if a is not None and b is not None]
    differences = [value for value in differences if not math.isnan(value)]
    of = estimate(differences)
    if of.mean is None:
        return Paired(0, of, None, None)
    agree = sum(value * of.mean > 0 for value in differences) / len(differences)
    return Paired(len(differences), of, _hedges(differences, of.mean), agree)


def _hedges(differences: Sequence[float], mean: float) -> float | None:
    """Return the standardised mean difference of pairs, times 1 - 3/(4(n - 1) - 1) to correct its small-sample bias."""
    n = len(differences)
    if n < 3:
        return None
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / (n - 1))
    return mean / spread * (1 - 3 / (4 * (n - 1) - 1)) if spread > 0 else None


def jain(shares: Sequence[float]) -> float | None:
    """Return Jain's fairness index: 1 if all get the same, 1/n if one gets everything; None if nobody gets anything.

    R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984.
    """
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares > 0 else None
