"""Empirical distribution functions, right-continuous: F(x) is the share of samples at or below x."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def ecdf(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return each distinct value in ascending order, and the share of samples at or below it."""
    ordered = np.asarray(values, dtype=np.float64)
    distinct, counts = np.unique(ordered, return_counts=True)
    return distinct, np.cumsum(counts) / max(len(ordered), 1)


def curve(values: npt.ArrayLike, *, points: int = 256, upto: float = 0.999) -> tuple[Floats, Floats]:
    """Return steps of the distribution for drawing: about `points` at most, up to the share `upto`.

    Every step lies on the full function. The tail keeps more steps than the middle, because queues differ in the tail.
    """
    x, share = ecdf(values)
    last = int(np.searchsorted(share, upto, side="left")) + 1
    x, share = x[:last], share[:last]
    if len(x) <= points:
        return x, share
    body = np.linspace(0.0, 0.95, points // 2)
    tail = np.linspace(0.95, upto, points - points // 2)
    keep = np.searchsorted(share, np.concatenate([body, tail]), side="left")
    keep = np.unique(np.concatenate([[0], np.clip(keep, 0, len(x) - 1), [len(x) - 1]]))
    return x[keep], share[keep]
