"""Fits send times: a server's tick and its jitter, a client's intervals. Pauses are left out of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gamelane.fit.figures import autocorrelation
from gamelane.fit.series import knots

Floats = npt.NDArray[np.float64]

STALL = 1.5
"""A gap of more than this many medians is a pause or a loss."""

STEADY = 0.1
"""Share of a tick within which a gap counts for the jitter."""

ON_A_GRID = -0.25
"""Correlation of successive gaps below which packets follow a grid: a late packet is followed by a short gap.
Independent offsets from a grid give -1/2, independent gaps give 0.
"""


@dataclass(frozen=True)
class Tick:
    """A server's tick. `jitter_sd_ms` refers to offsets from the grid if there is one, else to the gaps."""

    tick_ms: float
    jitter_sd_ms: float
    on_a_grid: bool
    stalls: int
    longest_gap_ms: float


@dataclass(frozen=True)
class Pace:
    """A client's send rate, as quantiles of its intervals."""

    shares: Floats
    intervals_ms: Floats
    stalls: int
    longest_gap_ms: float

    @property
    def median_ms(self) -> float:
        """Median interval in ms."""
        return float(np.interp(0.5, self.shares, self.intervals_ms))


def tick(gaps: Sequence[Floats]) -> Tick:
    """Fit the tick to the gaps in ms of one or more clients."""
    pooled = np.concatenate(gaps)
    middle = float(np.median(pooled))
    # A gap over a lost update spans several ticks. Counting them keeps the tick from looking longer.
    tick_ms = float(pooled.sum() / np.maximum(np.round(pooled / middle), 0).sum())
    near = np.abs(pooled - tick_ms) <= STEADY * tick_ms
    steady = pooled[near] if near.mean() > 0.9 else pooled[pooled <= STALL * middle]
    core = [each[np.abs(each - middle) <= middle / 2] for each in gaps]
    on_a_grid = bool(near.mean() > 0.9 or autocorrelation(core, 1)[1] < ON_A_GRID)
    spread = float(steady.std())
    return Tick(
        tick_ms=tick_ms if on_a_grid else float(steady.mean()),
        jitter_sd_ms=spread / 2**0.5 if on_a_grid else spread,
        on_a_grid=on_a_grid,
        stalls=int((pooled > STALL * middle).sum()),
        longest_gap_ms=float(pooled.max()),
    )


def pace(gaps: Sequence[Floats]) -> Pace:
    """Fit the intervals in ms of one or more clients."""
    pooled = np.concatenate(gaps)
    kept = pooled[pooled <= STALL * np.median(pooled)]
    shares, intervals_ms = knots(kept, most=12)
    return Pace(shares, intervals_ms, int(len(pooled) - len(kept)), float(pooled.max()))
