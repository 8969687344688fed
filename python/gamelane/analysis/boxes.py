"""Tukey's box plots as R draws them: hinges by `fivenum`, whiskers to the last point within 1.5 box lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

REACH = 1.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """A box: whiskers, hinges, median, the points beyond the whiskers in ascending order, number of samples."""

    low: float
    lower_hinge: float
    median: float
    upper_hinge: float
    high: float
    outliers: Floats
    n: int


def fivenum(values: npt.ArrayLike) -> tuple[float, float, float, float, float]:
    """Return minimum, lower hinge, median, upper hinge and maximum, as R's `fivenum`.

    A hinge is the median of its half. The middle value of an odd number of samples belongs to both halves.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n == 0:
        raise ValueError("five numbers of no samples")
    depth = ((n + 3) // 2) / 2
    ranks = (1.0, depth, (n + 1) / 2, n + 1 - depth, float(n))
    low, lower, median, upper, high = (
        float(0.5 * (ordered[int(np.floor(rank)) - 1] + ordered[int(np.ceil(rank)) - 1])) for rank in ranks
    )
    return low, lower, median, upper, high


def box(values: npt.ArrayLike) -> Box:
    """Return box, whiskers and outliers of samples."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    _, lower, median, upper, _ = fivenum(ordered)
    reach = REACH * (upper - lower)
    inside = ordered[(ordered >= lower - reach) & (ordered <= upper + reach)]
    outside = ordered[(ordered < lower - reach) | (ordered > upper + reach)]
    return Box(float(inside[0]), lower, median, upper, float(inside[-1]), outside, len(ordered))


def thin(outliers: Floats, at_most: int) -> Floats:
    """Return at most that many outliers for drawing, evenly spaced. The smallest and the largest always stay."""
    if len(outliers) <= at_most:
        return outliers
    return outliers[np.linspace(0, len(outliers) - 1, at_most).round().astype(np.int64)]
