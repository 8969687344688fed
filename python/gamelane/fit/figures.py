"""The figures by which captured and modelled traffic are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FIGURES = ("mean_bytes", "sd_bytes", "tick_ms", "lag_one")
"""Figures that a model must reproduce."""

BATCHES = 8
"""Number of pieces that a capture is cut into, to estimate the sampling error of a figure."""


@dataclass(frozen=True)
class Figures:
    """Figures of a packet stream."""

    mean_bytes: float
    sd_bytes: float
    tick_ms: float
    lag_one: float
    gap_sd_ms: float


def percent(share: float) -> str:
    """Write a relative error."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def figures(series: Sequence[Floats], gaps_ms: Sequence[Floats]) -> Figures:
    """Return the figures of updates, given client by client or match by match."""
    sizes, gaps = np.concatenate(series), np.concatenate(gaps_ms)
    return Figures(
        mean_bytes=float(sizes.mean()),
        sd_bytes=float(sizes.std()),
        tick_ms=float(np.median(gaps)),
        lag_one=float(autocorrelation(series, 1)[1]),
        gap_sd_ms=float(gaps.std()),
    )


def autocorrelation(series: Sequence[Floats], lags: int) -> Floats:
    """Return the autocorrelation at lags 0 to `lags` about the common mean. Each pair comes from one series."""
    mean = np.concatenate(series).mean()
    centred = [each - mean for each in series]
    power = sum(float(each @ each) for each in centred)
    if power == 0:
        return np.zeros(lags + 1)
    products = [sum(float(each[: len(each) - lag] @ each[lag:]) for each in centred) for lag in range(lags + 1)]
    return np.array(products) / power


def standard_error(series: Sequence[Floats], figure: Callable[[Floats], float]) -> float:
    """Return the standard error of a figure of simultaneous series, from the series alone.

    Neighbouring sizes depend on each other. Therefore this is a jackknife over `BATCHES` long pieces. For a mean it
    equals the method of batch means (Law and Kelton).
    """
    pieces = [np.array_split(each, BATCHES) for each in series]
    without = [
        figure(np.concatenate([piece for of in pieces for n, piece in enumerate(of) if n != left]))
        for left in range(BATCHES)
    ]
    return float(np.std(without) * np.sqrt(BATCHES - 1))
