"""Turns measurements into verdicts.

Arms share seeds, so comparisons are paired. A difference counts if its 95 % interval (Student t over seeds) excludes
zero, or if it has the same sign in every seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from gamelane.analysis.stats import estimate
from gamelane.claims.evidence import Numbers

Outcome = Literal["reproduced", "differs", "cannot-tell"]
VERDICTS: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Finding:
    """Result of checking one claim: the verdict, our value, and why."""

    verdict: Outcome
    ours: Any
    why: str = ""


def cannot_tell(missing: str) -> Finding:
    """Return the verdict that no run can decide the claim. `missing` names what would decide it."""
    return Finding("cannot-tell", None, missing)


def given(condition: bool, ours: Any, why: str = "") -> Finding:
    """Judge a statement that is either true or false, without chance."""
    return Finding("reproduced" if condition else "differs", ours, why)


def number(values: Numbers, digits: int = 3) -> str:
    """Return mean and 95 % half-width over seeds as text."""
    mean, half = _interval(values)
    return f"{_short(mean, digits)} ± {_short(half, 2)}"


def less(name: str, smaller: Numbers, larger_name: str, larger: Numbers, unit: str, why: str = "") -> Finding:
    """Judge whether `smaller` is below `larger`, paired over common seeds."""
    ours = f"{name} {_with(smaller, unit)}, {larger_name} {_with(larger, unit)}"
    difference = larger - smaller
    mean, half = _interval(difference)
    if mean - half > 0 or (len(difference) > 1 and bool(np.all(difference > 0))):
        return Finding("reproduced", ours, why)
    if mean + half < 0 or bool(np.all(difference <= 0)):
        return Finding("differs", ours, why)
    return Finding(
        "cannot-tell", ours, f"the interval of the difference {_with(difference, unit)} includes zero" + _after(why)
    )


def near(values: Numbers, theirs: float, tolerance: float, unit: str, why: str = "") -> Finding:
    """Judge whether the mean is within `tolerance` (a fraction) of the paper's number."""
    mean, _ = _interval(values)
    inside = abs(mean - theirs) <= tolerance * abs(theirs)
    note = why if why or inside else f"outside ±{tolerance:.0%} of {theirs:g} {unit}"
    return Finding("reproduced" if inside else "differs", f"{number(values)} {unit}", note)


def between(values: Numbers, low: float, high: float, unit: str, why: str = "") -> Finding:
    """Judge whether the mean is in a range, including both ends."""
    mean, _ = _interval(values)
    return Finding("reproduced" if low <= mean <= high else "differs", f"{number(values)} {unit}", why)


def zero(values: Numbers, unit: str, why: str = "") -> Finding:
    """Judge whether the value is exactly zero in every run."""
    worst = float(values.max())
    ours = f"0 in {values.size} runs" if worst == 0 else f"up to {_short(worst, 3)} {unit}"
    return Finding("reproduced" if worst == 0 else "differs", ours, why)


def above_zero(values: Numbers, unit: str, why: str = "") -> Finding:
    """Judge whether the value is above zero: its interval excludes zero, or every run is above zero."""
    mean, half = _interval(values)
    share = float(np.mean(values > 0))
    ours = f"{number(values)} {unit}, above zero in {share:.0%} of runs"
    if mean - half > 0 or share == 1:
        return Finding("reproduced", ours, why)
    return Finding("differs" if share == 0 else "cannot-tell", ours, why)


def all_of(*findings: Finding, why: str = "") -> Finding:
    """Combine statements: `differs` if one differs, else `cannot-tell` if one cannot be told, else `reproduced`."""
    order: list[Outcome] = ["differs", "cannot-tell", "reproduced"]
    verdict = min((finding.verdict for finding in findings), key=order.index)
    reasons = [finding.why for finding in findings if finding.why]
    ours = "; ".join(str(finding.ours) for finding in findings)
    return Finding(verdict, ours, "; ".join(dict.fromkeys([*reasons, *([why] if why else [])])))


def _with(values: Numbers, unit: str) -> str:
    return f"{number(values)} {unit}".rstrip()


def _interval(values: Numbers) -> tuple[float, float]:
    """Return mean and 95 % half-width; the half-width of a single run is 0."""
    both = estimate(values.tolist())
    return both.mean or 0.0, both.ci95 or 0.0


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:.0f}"


def _after(why: str) -> str:
    return f"; {why}" if why else ""
