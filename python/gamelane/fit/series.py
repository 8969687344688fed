"""Packet sizes as a distribution with memory: quantiles joined by lines, and an ARMA(1,1) that moves along them.

Size(t) = Q(F(Z(t))), where Z is an ARMA(1,1) of variance 1 and F is the normal distribution function.
`crates/traffic/src/measured.rs` generates it. Z is fitted to the normal scores of the sizes, with the condition that
the sizes have the measured lag-1 correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import norm, rankdata

from gamelane.fit.arma import fit_given_lag_one
from gamelane.fit.figures import autocorrelation

Floats = npt.NDArray[np.float64]

KNOTS = 64
CLOSE = 0.002
"""Knots are added until the area between the quantile functions is this share of the mean, or up to `KNOTS`."""


@dataclass(frozen=True)
class Series:
    """Quantiles `share, value` and the process behind them."""

    phi: float
    theta: float
    shares: Floats
    values: Floats


def fit_series(samples: Sequence[Floats]) -> Series:
    """Fit to sizes of one kind. Each sample belongs to one client, in order of time."""
    pooled = np.concatenate(samples)
    shares, values = knots(pooled)
    if values[0] == values[-1]:
        return Series(0.0, 0.0, shares, values)
    measured = float(autocorrelation(samples, 1)[1])
    behind = correlation_behind(shares, values, measured)
    scores = norm.ppf((rankdata(pooled) - 0.5) / len(pooled))
    pieces = np.split(scores, np.cumsum([len(sample) for sample in samples])[:-1])
    process = fit_given_lag_one(pieces, behind)
    return Series(process.phi, process.theta, shares, values)


def knots(sample: Floats, most: int = KNOTS, close: float = CLOSE) -> tuple[Floats, Floats]:
    """Reduce the quantile function of a sample to a few points with straight lines between them.

    The segment with the largest area between line and sample is split where the two are farthest apart.
    """
    x = np.sort(sample)
    n = len(x)
    shares = np.concatenate([[0.0], (np.arange(n) + 0.5) / n, [1.0]])
    values = np.concatenate([x[:1], x, x[-1:]])
    kept = [0, n + 1]
    areas = {(0, n + 1): _area(shares, values, 0, n + 1)}
    enough = close * abs(float(x.mean()))
    while len(kept) < most and sum(area for area, _ in areas.values()) > enough:
        (first, last), (_, split) = max(areas.items(), key=lambda item: item[1][0])
        del areas[first, last]
        for part in ((first, split), (split, last)):
            areas[part] = _area(shares, values, *part)
        kept.append(split)
    kept.sort()
    return shares[kept], values[kept]


def correlation_behind(shares: Floats, values: Floats, correlation: float) -> float:
    """Return the correlation of normal variables Z for which the sizes Q(F(Z)) have this correlation."""
    of_sizes = transfer(shares, values)
    lowest, highest = of_sizes(-LIMIT), of_sizes(LIMIT)
    if not lowest < correlation < highest:
        return LIMIT if correlation >= highest else -LIMIT
    return float(brentq(lambda r: of_sizes(r) - correlation, -LIMIT, LIMIT, xtol=1e-10))


class transfer:  # noqa: N801 - used like a function; the class holds its precomputed series
    """Returns the correlation of sizes for a correlation of the normal variables behind them.

    By Mehler's formula this is a power series. Its coefficients are those of Q(F(z)) in Hermite polynomials.
    """

    def __init__(self, shares: Floats, values: Floats) -> None:
        z = np.linspace(-8.0, 8.0, 8001)
        weight = norm.pdf(z) * (z[1] - z[0])
        size = np.interp(norm.cdf(z), shares, values)
        before, now = np.zeros_like(z), np.ones_like(z)
        powers = []
        for order in range(ORDERS):
            powers.append(float(np.sum(weight * size * now)) ** 2)
            before, now = now, (z * now - np.sqrt(order) * before) / np.sqrt(order + 1.0)
        variance = float(np.sum(weight * size**2) - np.sum(weight * size) ** 2)
        # Everything in higher orders is added to the last one.
        self._shares = np.array(powers[1:]) / variance if variance > 0 else np.zeros(ORDERS - 1)
        self._shares[-1] += max(0.0, (1.0 - self._shares.sum()) if variance > 0 else 0.0)

    def __call__(self, correlation: float) -> float:
        """Return the correlation of the sizes."""
        return float(np.sum(self._shares * correlation ** np.arange(1, ORDERS)))


def _area(shares: Floats, values: Floats, first: int, last: int) -> tuple[float, int]:
    """Return the area between sample and line within a segment, and where they are farthest apart."""
    p, x = shares[first : last + 1], values[first : last + 1]
    off = np.abs(x - np.interp(p, p[[0, -1]], x[[0, -1]]))
    if last - first < 2:
        return 0.0, first
    return float(np.trapezoid(off, p)), first + 1 + int(np.argmax(off[1:-1]))


LIMIT = 0.9995
ORDERS = 60
