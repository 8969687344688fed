"""How a finding becomes a verdict.

Arms share seeds, so comparisons are paired: a difference counts when its 95 % interval (Student t over seeds) leaves
zero out, or when every seed agrees exactly.
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
    """What we found on one claim: the verdict, our value, and why."""

    verdict: Outcome
    ours: Any
    why: str = ""


def cannot_tell(missing: str) -> Finding:
    """Nothing here can decide it; `missing` says what would."""
    return Finding("cannot-tell", None, missing)


def given(condition: bool, ours: Any, why: str = "") -> Finding:
    """A statement that is either so or not, without chance."""
    return Finding("reproduced" if condition else "differs", ours, why)


def number(values: Numbers, digits: int = 3) -> str:
    """Mean and 95 % half-width over seeds, as text."""
    mean, half = _interval(values)
    return f"{_short(mean, digits)} ± {_short(half, 2)}"


def less(name: str, smaller: Numbers, larger_name: str, larger: Numbers, unit: str, why: str = "") -> Finding:
    """`smaller` is below `larger`, over common seeds."""
    ours = f"{name} {_with(smaller, unit)}, {larger_name} {_with(larger, unit)}"
    difference = larger - smaller
    mean, half = _interval(difference)
    if mean - half > 0 or (len(difference) > 1 and bool(np.all(difference > 0))):
        return Finding("reproduced", ours, why)
    if mean + half < 0 or bool(np.all(difference <= 0)):
        return Finding("differs", ours, why)
    return Finding("cannot-tell", ours, f"the difference {_with(difference, unit)} includes zero" + _after(why))


def near(values: Numbers, theirs: float, tolerance: float, unit: str, why: str = "") -> Finding:
    """The mean lies within `tolerance` (a fraction) of the paper's number."""
    mean, _ = _interval(values)
    inside = abs(mean - theirs) <= tolerance * abs(theirs)
    note = why if why or inside else f"outside ±{tolerance:.0%} of {theirs:g} {unit}"
    return Finding("reproduced" if inside else "differs", f"{number(values)} {unit}", note)


def between(values: Numbers, low: float, high: float, unit: str, why: str = "") -> Finding:
    """The mean lies in a range, ends included."""
    mean, _ = _interval(values)
    return Finding("reproduced" if low <= mean <= high else "differs", f"{number(values)} {unit}", why)


def zero(values: Numbers, unit: str, why: str = "") -> Finding:
    """Exactly zero in every run."""
    worst = float(values.max())
    ours = f"0 in {values.size} runs" if worst == 0 else f"up to {_short(worst, 3)} {unit}"
    return Finding("reproduced" if worst == 0 else "differs", ours, why)


def above_zero(values: Numbers, unit: str, why: str = "") -> Finding:
    """More than zero on average, and in most runs."""
    mean, half = _interval(values)
    share = float(np.mean(values > 0))
    ours = f"{number(values)} {unit}, above zero in {share:.0%} of runs"
    if mean - half > 0 or share == 1:
        return Finding("reproduced", ours, why)
    return Finding("differs" if share == 0 else "cannot-tell", ours, why)


def all_of(*findings: Finding, why: str = "") -> Finding:
    """Several statements at once: one that differs decides, then one that cannot be told."""
    order: list[Outcome] = ["differs", "cannot-tell", "reproduced"]
    verdict = min((finding.verdict for finding in findings), key=order.index)
    reasons = [finding.why for finding in findings if finding.why]
    ours = "; ".join(str(finding.ours) for finding in findings)
    return Finding(verdict, ours, "; ".join(dict.fromkeys([*reasons, *([why] if why else [])])))


def _with(values: Numbers, unit: str) -> str:
    return f"{number(values)} {unit}".rstrip()


def _interval(values: Numbers) -> tuple[float, float]:
    """Mean and 95 % half-width; one run has no interval, so its difference decides alone."""
    both = estimate(values.tolist())
    return both.mean or 0.0, both.ci95 or 0.0


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:.0f}"


def _after(why: str) -> str:
    return f"; {why}" if why else ""
