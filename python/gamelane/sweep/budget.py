"""Bounds on metrics: what a combination has to keep to be good enough."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gamelane.analysis.stats import Estimate
from gamelane.sweep.metrics import Metric

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Limit:
    """A budget whose metric is known; `bound` is in the metric's unit."""

    text: str
    metric: Metric
    operator: str
    bound: float

    def within(self, value: float) -> bool:
        """Whether a value keeps it."""
        return OPERATORS[self.operator](value, self.bound)

    def judge(self, of: Estimate) -> bool | None:
        """Whether the whole interval keeps or breaks it; None if it reaches across the bound, or is none."""
        if of.mean is None:
            return None
        half = of.ci95 or 0.0
        ends = {self.within(of.mean - half), self.within(of.mean + half)}
        return ends.pop() if len(ends) == 1 else None
