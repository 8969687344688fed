"""Reduces the points of a plot: time is cut into equal bins, and each bin keeps its lowest and its highest sample.

Peaks survive. Averaging, or keeping every n-th point, could lose them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def keep_extremes(t: npt.ArrayLike, values: npt.ArrayLike, *, points: int = 2000) -> npt.NDArray[np.int64]:
    """Return the positions to keep of a series in time order: at most `points`, with the first and the last."""
    time = np.asarray(t, dtype=np.float64)
    series = np.asarray(values, dtype=np.float64)
    n = len(time)
    if n <= points:
        return np.arange(n)
    bins = max((points - 2) // 2, 1)
    span = time[-1] - time[0]
    position = (time - time[0]) / span * bins if span > 0 else np.arange(n) / n * bins
    bin_of = np.minimum(position.astype(np.int64), bins - 1)
    lowest_first = np.lexsort((series, bin_of))
    starts = np.flatnonzero(np.diff(bin_of[lowest_first], prepend=-1))
    ends = np.append(starts[1:], n) - 1
    ends_in_bin = np.concatenate([lowest_first[starts], lowest_first[ends]])
    return np.unique(np.concatenate([[0], ends_in_bin, [n - 1]]))
