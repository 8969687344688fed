"""Budgets: bounds on metrics that a good combination must meet."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gamelane.analysis.metrics import Metric
from gamelane.analysis.stats import Estimate

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
COMPARISON = re.compile(r"\s*(<=|<|>=|>)\s*(\S.*?)\s*")


@dataclass(frozen=True)
class Budget:
    """A bound on a metric, as written: `p99(quake3.rtt)`, `<=`, `80ms`."""

    metric: str
    operator: str
    bound: str

    @property
    def text(self) -> str:
        """Return it as text: `p99(quake3.rtt) <= 80ms`."""
        return f"{self.metric} {self.operator} {self.bound}"


@dataclass(frozen=True)
class Limit:
    """A budget whose metric is known; `bound` is in the metric's unit, `why` a reason for people."""

    text: str
    metric: Metric
    operator: str
    bound: float
    why: str = ""

    def within(self, value: float) -> bool:
        """Return whether a value meets it."""
        return OPERATORS[self.operator](value, self.bound)

    def judge(self, of: Estimate) -> bool | None:
        """Return whether the whole interval meets it; None if the interval crosses the bound or has no mean."""
        if of.mean is None:
            return None
        half = of.ci95 or 0.0
        ends = {self.within(of.mean - half), self.within(of.mean + half)}
        return ends.pop() if len(ends) == 1 else None
