"""Means over runs with 95 % intervals (docs/statistics.md).

One number per run, then Student's t over the runs: samples of different runs are never pooled to judge a difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and the half-width of its interval; None where too few runs gave a value."""

    mean: float | None
    ci95: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the `{mean, ci95}` of the JSON output."""
        return {"mean": self.mean, "ci95": self.ci95}


def estimate(values: Sequence[float | None]) -> Estimate:
    """Mean and 95 % half-width of one value per run; runs without a value (None, NaN) do not count."""
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
    """Two-sided 95 % quantile of Student's t."""
    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def over_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Replace every number of equally shaped dictionaries by its `{mean, ci95}`; words stay as they are."""
    return {key: _leaf([run.get(key) for run in runs]) for key in runs[0]}


def _leaf(values: Sequence[Any]) -> Any:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, Mapping):
        return over_runs([value for value in values if value is not None])
    if isinstance(first, str):
        return first
    return estimate(values).as_json()
