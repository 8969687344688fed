"""Maximum-likelihood fit of ARMA(1,1): x(t) = phi x(t-1) + e(t) + theta e(t-1), with normal e.

The likelihood is conditional on zero before the first value (Box and Jenkins, section 7.1). With thousands of values
the difference to the exact likelihood is negligible. Series of several matches share parameters, not values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize, minimize_scalar
from scipy.signal import lfilter

from gamelane.fit.figures import autocorrelation

Floats = npt.NDArray[np.float64]

LIMIT = 0.9995
"""Bound of the coefficients, inside which the process is stationary and invertible."""


@dataclass(frozen=True)
class Arma:
    """Coefficients and standard deviation of the innovations."""

    phi: float
    theta: float
    innovation_sd: float

    @property
    def lag_one(self) -> float:
        """Return the lag-1 correlation."""
        return lag_one(self.phi, self.theta)


def lag_one(phi: float, theta: float) -> float:
    """Return the lag-1 correlation of an ARMA(1,1)."""
    return (phi + theta) * (1 + phi * theta) / (1 + 2 * phi * theta + theta * theta)


def theta_of(phi: float, correlation: float) -> float | None:
    """Return the invertible theta that gives this lag-1 correlation, or None if there is none."""
    # (r - phi) theta² + (2 phi r - 1 - phi²) theta + (r - phi) = 0. Its two roots are reciprocals.
    a = correlation - phi
    b = 2 * phi * correlation - 1 - phi * phi
    root = b * b - 4 * a * a
    if root < 0:
        return None
    # Computes the smaller root without subtracting nearly equal numbers. b is negative.
    return float(2 * a / (-b + np.sqrt(root)))


def fit(series: Sequence[Floats]) -> Arma:
    """Maximise the likelihood over both coefficients."""
    centred = _centred(series)
    start = np.clip(autocorrelation(series, 1)[1], -0.9, 0.9)

    def loss(at: Floats) -> float:
        phi, theta = LIMIT * np.tanh(at)
        return _loss(centred, float(phi), float(theta))

    starts = [np.arctanh(np.array(begin)) for begin in ((start, 0.0), (0.9, -0.5))]
    found = [minimize(loss, begin, method="Nelder-Mead") for begin in starts]
    phi, theta = LIMIT * np.tanh(min(found, key=lambda each: float(each.fun)).x)
    return Arma(float(phi), float(theta), float(np.exp(_loss(centred, phi, theta))))


def fit_given_lag_one(series: Sequence[Floats], correlation: float) -> Arma:
    """Maximise the likelihood over the processes with this lag-1 correlation."""
    centred = _centred(series)

    def loss(phi: float) -> float:
        theta = theta_of(phi, correlation)
        return np.inf if theta is None or abs(theta) > LIMIT else _loss(centred, phi, theta)

    grid = np.linspace(-LIMIT, LIMIT, 801)
    best = int(np.argmin([loss(phi) for phi in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    refined = minimize_scalar(loss, bounds=around, method="bounded")
    phi = float(refined.x) if loss(float(refined.x)) <= loss(grid[best]) else float(grid[best])
    theta = theta_of(phi, correlation)
    if theta is None:  # phi = correlation with theta = 0 always exists, so the grid has a point near it
        phi, theta = correlation, 0.0
    return Arma(phi, theta, float(np.exp(_loss(centred, phi, theta))))


def _centred(series: Sequence[Floats]) -> list[Floats]:
    mean = np.concatenate(series).mean()
    return [each - mean for each in series]


def _loss(centred: Sequence[Floats], phi: float, theta: float) -> float:
    """Return the logarithm of the innovations' standard deviation: the negative log-likelihood up to constants."""
    innovations = np.concatenate([lfilter([1.0, -phi], [1.0, theta], each) for each in centred])
    return 0.5 * float(np.log(np.mean(innovations**2) + TINY))


TINY = 1e-300
"""Lower bound that keeps the logarithm finite for a constant series."""
