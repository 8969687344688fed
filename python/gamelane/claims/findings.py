"""Turns measurements into verdicts.

A value per seed is judged by its 95 % interval (Student t over seeds). Arms share seeds, so differences are paired.
If the interval contains the limit, or the difference includes zero, the verdict is `cannot-tell`. One run has no
interval, so it decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan
from typing import Any, Literal

from gamelane.analysis.stats import estimate
from gamelane.claims.evidence import Numbers

Outcome = Literal["reproduced", "differs", "cannot-tell"]


@dataclass(frozen=True)
class Finding:
    """Result of checking one claim: the outcome, our value, and why."""

    outcome: Outcome
    ours: Any
    why: str = ""


def cannot_tell(missing: str) -> Finding:
    """Return the verdict that no run can decide the claim. `missing` names what would decide it."""
    return Finding("cannot-tell", None, missing)


def given(condition: bool, ours: Any, why: str = "") -> Finding:
    """Judge a statement that is either true or false, without chance."""
    return Finding("reproduced" if condition else "differs", ours, why)


def number(values: Numbers, digits: int = 3) -> str:
    """Return mean and 95 % half-width over seeds as text; of one run the value alone."""
    both = estimate(values.tolist())
    if both.mean is None:
        return NO_VALUE
    return _short(both.mean, digits) + ("" if both.ci95 is None else f" ± {_short(both.ci95, 2)}")


def less(name: str, smaller: Numbers, larger_name: str, larger: Numbers, unit: str, why: str = "") -> Finding:
    """Judge whether `smaller` is below `larger`, paired over common seeds."""
    ours = f"{name} {_with(smaller, unit)}, {larger_name} {_with(larger, unit)}"
    difference = larger - smaller
    low, high = _interval(difference)
    if low > 0:
        return Finding("reproduced", ours, why)
    if high < 0 or low == high == 0:
        return Finding("differs", ours, why)
    return Finding("cannot-tell", ours, _joined(_undecided(difference, "the difference", 0, unit), why))


def near(values: Numbers, theirs: float, percent: float, unit: str, why: str = "") -> Finding:
    """Judge whether the mean is within `percent` of the paper's number."""
    allowed = percent / 100 * abs(theirs)
    return between(values, theirs - allowed, theirs + allowed, unit, why)


def between(values: Numbers, lowest: float, highest: float, unit: str, why: str = "") -> Finding:
    """Judge whether the mean is in a range, including both ends."""
    ours = _with(values, unit)
    low, high = _interval(values)
    if lowest <= low and high <= highest:
        return Finding("reproduced", ours, why)
    if high < lowest or highest < low:
        return Finding("differs", ours, _joined(_range(lowest, highest, unit), why))
    limit = highest if low <= highest < high else lowest
    return Finding("cannot-tell", ours, _joined(_undecided(values, "the mean", limit, unit), why))


def below(values: Numbers, limit: float, unit: str, why: str = "") -> Finding:
    """Judge whether the mean is at most `limit`."""
    return between(values, -inf, limit, unit, why)


def above(values: Numbers, limit: float, unit: str, why: str = "") -> Finding:
    """Judge whether the mean is more than `limit`."""
    ours = _with(values, unit)
    low, high = _interval(values)
    if low > limit:
        return Finding("reproduced", ours, why)
    if high < limit or low == high == limit:
        return Finding("differs", ours, _joined(f"not above {_short(limit, 3)} {unit}".rstrip(), why))
    return Finding("cannot-tell", ours, _joined(_undecided(values, "the mean", limit, unit), why))


def zero(values: Numbers, unit: str, why: str = "") -> Finding:
    """Judge whether the value is exactly zero in every run. A single run can only disprove it."""
    worst = float(values.max())
    if worst > 0:
        return Finding("differs", f"up to {_short(worst, 3)} {unit} in {values.size} runs", why)
    if values.size < 2:
        return Finding("cannot-tell", "0 in one run", _joined(ONE_RUN, why))
    return Finding("reproduced", f"0 in {values.size} runs", why)


def all_of(*findings: Finding, why: str = "") -> Finding:
    """Combine statements: `differs` if one differs, else `cannot-tell` if one cannot be told, else `reproduced`."""
    order: list[Outcome] = ["differs", "cannot-tell", "reproduced"]
    outcome = min((finding.outcome for finding in findings), key=order.index)
    reasons = [finding.why for finding in findings if finding.why]
    ours = "; ".join(str(finding.ours) for finding in findings if finding.ours is not None)
    return Finding(outcome, ours, "; ".join(dict.fromkeys([*reasons, *([why] if why else [])])))


ONE_RUN = "one run decides nothing"
NO_VALUE = "no value"


def _interval(values: Numbers) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the mean. They are infinite for fewer than two runs."""
    both = estimate(values.tolist())
    if both.mean is None or both.ci95 is None or isnan(both.ci95):
        return -inf, inf
    return both.mean - both.ci95, both.mean + both.ci95


def _undecided(values: Numbers, what: str, limit: float, unit: str) -> str:
    if estimate(values.tolist()).ci95 is None:
        return ONE_RUN
    return f"the interval of {what}, {_with(values, unit)}, includes {_short(limit, 3)} {unit}".rstrip()


def _range(lowest: float, highest: float, unit: str) -> str:
    ends = [_short(end, 3) for end in (lowest, highest)]
    if lowest == -inf:
        return f"not below {ends[1]} {unit}".rstrip()
    if highest == inf:
        return f"not above {ends[0]} {unit}".rstrip()
    return f"outside {ends[0]} to {ends[1]} {unit}".rstrip()


def _with(values: Numbers, unit: str) -> str:
    shown = number(values)
    return shown if shown == NO_VALUE else f"{shown} {unit}".rstrip()


def _short(value: float, digits: int) -> str:
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{float(f'{value:.{digits}g}'):g}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
