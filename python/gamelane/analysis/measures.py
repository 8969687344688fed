"""Measures of a packet stream: jitter as iperf reports it, gaps between arrivals, bursts of loss.

Times are in milliseconds. `of_flow` takes them from the `delay` table of one run. Samples of several runs are never
pooled.
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
    """Return the interarrival jitter at the end of a stream, in ms, as iperf 2 reports it for UDP.

    `transit_ms` is receive time minus send time of each packet in order of arrival; a constant clock offset cancels.
    Each new transit difference moves J by a sixteenth (RFC 3550, section 6.4.1). J therefore describes the last few
    dozen packets, not the whole stream. NaN without a packet, 0 for one packet.
    """
    series = rfc3550_jitter_series_ms(transit_ms)
    return float(series[-1]) if len(series) else math.nan


def rfc3550_jitter_series_ms(transit_ms: npt.ArrayLike) -> Floats:
    """Return the RFC 3550 jitter after each packet, in ms; 0 for the first packet."""
    transit = np.asarray(transit_ms, dtype=np.float64)
    steps = np.abs(np.diff(transit))
    jitter = np.zeros(len(transit))
    value = 0.0
    for index, step in enumerate(steps.tolist(), start=1):
        value += (step - value) / 16
        jitter[index] = value
    return jitter


def mean_absolute_deviation(values: npt.ArrayLike) -> float:
    """Return the mean absolute deviation in the unit of the values: the jitter of the G-model. NaN without values."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.abs(array - array.mean()).mean()) if len(array) else math.nan


@dataclass(frozen=True)
class Gaps:
    """Times between consecutive arrivals, in ms ("interarrival time" in burriss2006)."""

    count: int
    mean_ms: float
    maximum_ms: float
    deviation_ms: float
    """Sample standard deviation."""


def gaps(arrived_ms: npt.ArrayLike) -> Gaps:
    """Return statistics of the gaps between arrivals, given in any order. NaN if too few: a mean needs two arrivals."""
    between = np.diff(np.sort(np.asarray(arrived_ms, dtype=np.float64)))
    if len(between) == 0:
        return Gaps(0, math.nan, math.nan, math.nan)
    deviation = float(between.std(ddof=1)) if len(between) > 1 else math.nan
    return Gaps(len(between), float(between.mean()), float(between.max()), deviation)


def burst_ratio(lost: npt.ArrayLike) -> float:
    """Return the burst ratio of ITU-T G.107: mean length of loss runs over that of random loss. 1 is random loss.

    `lost` says for each packet, in order of sending, whether it was lost. NaN if no packet or every packet was lost.
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
    """Share of sent packets; NaN if none was sent."""
    queue_delay_mean_ms: float
    queue_delay_median_ms: float
    queue_delay_p75_ms: float
    queue_delay_p99_ms: float
    jitter_ms: float
    """Jitter of RFC 3550 at the end of the run, from one-way delays including propagation."""
    jitter_p95_ms: float
    """95th percentile of the RFC 3550 jitter after each packet."""
    gaps: Gaps


def of_flow(delay: pl.DataFrame, windows: pl.DataFrame, *, flow: str, direction: str, since_s: float = 0.0) -> Measures:
    """Return the measures of a flow in one direction (`up`, `down`) from the `delay` and `windows` tables of one run.

    `since_s` excludes the warm-up: packets that arrived and windows that began before it. Quantiles interpolate (type 7
    of Hyndman and Fan).
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
    """Return a flow's queueing delay distribution in one run: delays in ms, and the share of packets up to each."""
    chosen = (pl.col("flow").cast(pl.String) == flow) & (pl.col("direction").cast(pl.String) == direction)
    return ecdf(delay.filter(chosen & (pl.col("t_s") >= since_s))["queue_delay_ms"].to_numpy())
