"""Measures of a stream of packets: jitter as iperf reports it, gaps between arrivals, bursts of loss.

Times are in milliseconds. `of_flow` takes them from the `delay` table of a run's records, one run at a time: samples of
several runs are never pooled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from .ecdf import ecdf

Floats = npt.NDArray[np.float64]


def rfc3550_jitter_ms(transit_ms: npt.ArrayLike) -> float:
    """Interarrival jitter at the end of a stream, in ms: what iperf 2 reports for UDP.

    `transit_ms` is receipt minus sending of each packet in order of arrival; a constant error of the clocks cancels. J
    moves by a sixteenth of the way to each new difference of transits (RFC 3550 section 6.4.1), so it tells of the last
    few dozen packets, not of the whole stream. NaN without a packet, 0 for one.
    """
    series = rfc3550_jitter_series_ms(transit_ms)
    return float(series[-1]) if len(series) else math.nan


def rfc3550_jitter_series_ms(transit_ms: npt.ArrayLike) -> Floats:
    """RFC 3550 jitter after each packet, in ms; 0 for the first."""
    transit = np.asarray(transit_ms, dtype=np.float64)
    steps = np.abs(np.diff(transit))
    jitter = np.zeros(len(transit))
    value = 0.0
    for index, step in enumerate(steps.tolist(), start=1):
        value += (step - value) / 16
        jitter[index] = value
    return jitter


def mean_absolute_deviation(values: npt.ArrayLike) -> float:
    """Mean distance from the mean, in the unit of the values: the jitter of the G-model. NaN without values."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.abs(array - array.mean()).mean()) if len(array) else math.nan


@dataclass(frozen=True)
class Gaps:
    """Times between neighbouring arrivals, in ms (burriss2006's "interarrival time")."""

    count: int
    mean_ms: float
    maximum_ms: float
    deviation_ms: float
    """Sample standard deviation."""


def gaps(arrived_ms: npt.ArrayLike) -> Gaps:
    """Gaps between arrivals at these times, in any order. NaN where there are too few: a mean takes two arrivals."""
    between = np.diff(np.sort(np.asarray(arrived_ms, dtype=np.float64)))
    if len(between) == 0:
        return Gaps(0, math.nan, math.nan, math.nan)
    deviation = float(between.std(ddof=1)) if len(between) > 1 else math.nan
    return Gaps(len(between), float(between.mean()), float(between.max()), deviation)


def burst_ratio(lost: npt.ArrayLike) -> float:
    """Mean length of a run of losses over that of as many random losses: 1 for random loss, more for bursts (G.107).

    `lost` says for each packet, in order of sending, whether it was lost. NaN without a loss, and with losses alone.
    """
    flags = np.asarray(lost, dtype=bool)
    share = float(flags.mean()) if len(flags) else 0.0
    if not 0 < share < 1:
        return math.nan
    starts = int(flags[0]) + int(np.count_nonzero(flags[1:] & ~flags[:-1]))
    return float(np.count_nonzero(flags)) / starts * (1 - share)


@dataclass(frozen=True)
class Measures:
    """One direction of one flow in one run."""

    packets: int
    """Arrived."""
    loss_percent: float
    """Of those sent; NaN if none was."""
    queue_delay_mean_ms: float
    queue_delay_median_ms: float
    queue_delay_p75_ms: float
    queue_delay_p99_ms: float
    jitter_ms: float
    """RFC 3550, at the end, over whole transits."""
    jitter_p95_ms: float
    """95th percentile of it over the packets."""
    gaps: Gaps


def of_flow(delay: pl.DataFrame, windows: pl.DataFrame, *, flow: str, direction: str, since_s: float = 0.0) -> Measures:
    """Measures of a flow in one direction (`up`, `down`) from the `delay` and `windows` tables of one run.

    `since_s` leaves out packets that arrived earlier, and windows that began earlier: the warm-up. Quantiles are of
    type 7: they interpolate.
    """
    chosen = (pl.col("flow").cast(pl.String) == flow) & (pl.col("direction").cast(pl.String) == direction)
    rows = delay.filter(chosen & (pl.col("t_s") >= since_s)).sort("t_s", maintain_order=True)
    counts = windows.filter(chosen & (pl.col("t_s") >= since_s)).select("sent", "lost").sum()
    sent, lost = (int(counts[column].item()) for column in ("sent", "lost"))
    waited = rows["queue_delay_ms"].to_numpy().astype(np.float64)
    jitter = rfc3550_jitter_series_ms(rows["one_way_ms"].to_numpy())
    known = len(waited) > 0
    median, p75, p99 = np.quantile(waited, [0.5, 0.75, 0.99]) if known else (math.nan,) * 3
    return Measures(
        packets=len(waited),
        loss_percent=100 * lost / sent if sent else math.nan,
        queue_delay_mean_ms=float(waited.mean()) if known else math.nan,
        queue_delay_median_ms=float(median),
        queue_delay_p75_ms=float(p75),
        queue_delay_p99_ms=float(p99),
        jitter_ms=float(jitter[-1]) if known else math.nan,
        jitter_p95_ms=float(np.quantile(jitter, 0.95)) if known else math.nan,
        gaps=gaps(rows["t_s"].to_numpy() * 1e3),
    )


def queue_delay_ecdf(delay: pl.DataFrame, *, flow: str, direction: str, since_s: float = 0.0) -> tuple[Floats, Floats]:
    """Distribution of a flow's queueing delay in one run: each delay in ms, and the share of packets at or below it."""
    chosen = (pl.col("flow").cast(pl.String) == flow) & (pl.col("direction").cast(pl.String) == direction)
    return ecdf(delay.filter(chosen & (pl.col("t_s") >= since_s))["queue_delay_ms"].to_numpy())
