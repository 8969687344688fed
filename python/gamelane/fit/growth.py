"""Growth of a figure of the updates, their mean or standard deviation, with the number of players.

With N players the figure is level · (1 - share + share · (N / N0)^power): a part that is the same in every match, and
a part that grows. Captures do not determine these numbers, so every combination counts by its likelihood. The result is
an estimate with a prediction interval. docs/models/traffic-fit.md explains the assumptions and their test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Floats = npt.NDArray[np.float64]

MEAN_POWERS = (0.5, 0.75, 1.0, 1.25)
"""Powers of the number of players for the mean, equally probable beforehand. Power 1 is the linear growth of Branch and
Armitage (NetGames 2006). Below 1, fewer of the other players are in view in larger matches.
"""

SD_POWERS = (0.75, 1.0, 1.25)
"""Powers for the standard deviation. Independent players would give 0.5, but several are in view at the same time."""

SHARES = (np.arange(80) + 0.5) / 80
"""Shares of the figure that grow with the players, at `N0`. All from 0 to 1 are equally probable beforehand."""

APART = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Relative standard deviations between matches of one number of players, beyond their sampling error."""

USUALLY_APART = 0.1
"""Scale of the half-normal distribution of `APART` beforehand; our choice."""


@dataclass(frozen=True)
class Point:
    """A figure of one capture. `error` is its relative sampling error, for a capture of `seconds`."""

    players: int
    value: float
    error: float
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """A figure that was not measured. 95 of 100 captures should have theirs between `low` and `high`."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Return whether the interval contains a measured value."""
        return self.low <= value <= self.high


class Growth:
    """The growth that a few captures suggest. They need two different numbers of players."""

    def __init__(self, points: Sequence[Point], powers: Sequence[float]) -> None:
        players = np.array([point.players for point in points], dtype=float)
        if len(set(players)) < 2:
            raise ValueError("growth needs captures of two numbers of players")
        seconds = np.array([point.seconds for point in points])
        # A single capture determines its own error badly, so all share one, by their length.
        of_a_second = np.mean([point.error**2 * point.seconds for point in points])
        self._error = float(np.sqrt(of_a_second / seconds.mean()))
        self._middle = float(np.exp(np.log(players).mean()))
        power, share, apart = np.meshgrid(powers, SHARES, APART, indexing="ij")
        self._power, self._share, self._apart = power.ravel(), share.ravel(), apart.ravel()
        logs = np.log([point.value for point in points]) - self._shape(players)
        weights = 1 / (of_a_second / seconds + self._apart[:, None] ** 2 + TINY)
        total = weights.sum(axis=1)
        # The level has a flat prior on its logarithm: given the rest, it is normal around this mean.
        self._level = (weights * logs).sum(axis=1) / total
        self._level_variance = 1 / total
        misfit = (weights * (logs - self._level[:, None]) ** 2).sum(axis=1)
        likelihood = 0.5 * (np.log(weights).sum(axis=1) - np.log(total) - misfit)
        likelihood -= 0.5 * (self._apart / USUALLY_APART) ** 2
        self._weight = np.exp(likelihood - likelihood.max())
        self._weight /= self._weight.sum()

    def at(self, players: int) -> Estimate:
        """Estimate the figure of another capture with this number of players and the length of these captures."""
        middle = self._level + self._shape(np.array([float(players)]))[:, 0]
        spread = np.sqrt(self._level_variance + self._apart**2 + self._error**2 + TINY)
        low, value, high = (float(np.exp(self._quantile(middle, spread, share))) for share in (0.025, 0.5, 0.975))
        return Estimate(value, low, high)

    def powers(self) -> dict[float, float]:
        """Return the probability of each power, given the captures."""
        return {power: float(self._weight[self._power == power].sum()) for power in np.unique(self._power).tolist()}

    def _shape(self, players: Floats) -> Floats:
        """Return the logarithm of growth relative to the level: a row for each combination."""
        grown = (players / self._middle) ** self._power[:, None]
        shape: Floats = np.log(1 - self._share[:, None] + self._share[:, None] * grown)
        return shape

    def _quantile(self, middle: Floats, spread: Floats, share: float) -> float:
        """Return a quantile of the mixture of normal distributions, by bisection."""
        low, high = float((middle - 9 * spread).min()), float((middle + 9 * spread).max())
        while high - low > 1e-6:
            between = (low + high) / 2
            below = float(self._weight @ ndtr((between - middle) / spread))
            low, high = (between, high) if below < share else (low, between)
        return (low + high) / 2


TINY = 1e-12
"""Variance of a figure without any error, which keeps weights finite."""
