"""Writes a run over time as `.flent.gz`, flent's file format (version 4), so that flent can plot it.

All series share one time axis, as flent requires. Values are sampled each `STEP_S`; an RTT is the mean of its samples
in the step. Units are flent's: Mbit/s and ms. Flent's metadata about the hosts of a testbed is left out.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from gamelane import _native, whole
from gamelane.records.results import Results

VERSION = 4
STEP_S = 0.2
TEST = "ping"
"""Test of flent whose definition it loads to show the file. It accepts no name that it does not know."""
EPOCH = "1970-01-01T00:00:00.000000Z"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One line of a flent file."""

    name: str
    units: str
    t: Floats
    values: Floats


def write(path: Path, title: str, series: Sequence[Series], *, duration_s: float, engine: str = "sim") -> None:
    """Write a file. The same series give the same bytes."""
    text = json.dumps(
        document(title, series, duration_s=duration_s, engine=engine), separators=(",", ":"), allow_nan=False
    )
    with (
        whole.file(path) as partial,
        partial.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
    ):
        packed.write(text.encode())


def document(title: str, series: Sequence[Series], *, duration_s: float, engine: str = "sim") -> dict[str, Any]:
    """Return the content of a file."""
    host = "simulated" if engine == "sim" else engine
    steps = math.floor(duration_s / STEP_S) + 1
    axis = np.arange(steps, dtype=np.float64) * STEP_S
    return {
        "version": VERSION,
        "x_values": [round(float(x), 6) for x in axis],
        "results": {line.name: _sampled(line, axis) for line in series},
        "raw_values": {
            line.name: [{"t": float(t), "val": float(v)} for t, v in zip(line.t, line.values, strict=True)]
            for line in series
        },
        "metadata": {
            "NAME": TEST,
            "DATA_FILENAME": None,
            "TITLE": title,
            "TIME": EPOCH,
            "T0": EPOCH,
            "LENGTH": round(duration_s),
            "TOTAL_LENGTH": round(duration_s),
            "STEP_SIZE": STEP_S,
            "HOST": host,
            "LOCAL_HOST": host,
            "TEST_PARAMETERS": {},
            "NOTE": f"{host}, by gamelane {_native.version()}",
            "SERIES_META": {line.name: {"UNITS": line.units} for line in series},
        },
    }


def of_run(results: Results, variant: str, seed: int) -> list[Series]:
    """Return the series of one run: RTT and throughput of every flow, and backlogs."""
    found = []
    one = (pl.col("variant") == variant) & (pl.col("seed") == seed)
    rtt, windows, queues = (frame.filter(one) for frame in (results.rtt, results.windows, results.queues))
    for flow in results.flows:
        own = rtt.filter(pl.col("flow") == flow.name)
        if not own.is_empty():
            found.append(Series(f"Ping (ms) {flow.name}", "ms", own["t_s"].to_numpy(), own["rtt_ms"].to_numpy()))
        for way, word in (("up", "upload"), ("down", "download")):
            rows = windows.filter(pl.col("flow") == flow.name, pl.col("direction") == way)
            if rows["bytes"].sum():
                # The value of a window is placed at its middle.
                rate = rows["bytes"].to_numpy() * 8 / 1e6
                found.append(Series(f"{flow.name} {word}", "Mbits/s", rows["t_s"].to_numpy() + 0.5, rate))
    for way in ("up", "down"):
        rows = queues.filter(pl.col("direction") == way)
        found.append(
            Series(f"backlog {way}", "packets", rows["t_s"].to_numpy(), rows["packets"].to_numpy().astype(float))
        )
    return found


def of_detail(kept: Mapping[str, Any]) -> list[Series]:
    """Return the series that a sweep keeps of a cell."""
    found = [_kept(f"Ping (ms) {flow}", "ms", line, 1.0) for flow, line in kept["rtt_ms"].items()]
    for name, line in kept["throughput_kbps"].items():
        if any(line["v"]):
            flow, _, way = name.rpartition(" ")
            found.append(_kept(f"{flow} {way}load", "Mbits/s", line, 1e-3, shift=0.5))
    return found + [_kept(f"backlog {way}", "packets", line, 1.0) for way, line in kept["backlog_packets"].items()]


def _kept(name: str, units: str, line: Mapping[str, Sequence[float]], factor: float, *, shift: float = 0.0) -> Series:
    return Series(name, units, np.asarray(line["t"], dtype=float) + shift, np.asarray(line["v"], dtype=float) * factor)


def _sampled(line: Series, axis: Floats) -> list[float | None]:
    """Return the mean of the samples in each step, interpolated if there are none; None outside the series."""
    if not len(line.t):
        return [None] * len(axis)
    step = np.clip(np.round(line.t / STEP_S).astype(np.int64), 0, len(axis) - 1)
    count = np.bincount(step, minlength=len(axis))
    total = np.bincount(step, weights=line.values, minlength=len(axis))
    there = count > 0
    means = np.interp(axis, axis[there], total[there] / count[there])
    inside = (axis >= line.t[0] - STEP_S) & (axis <= line.t[-1] + STEP_S)
    return [round(float(value), 6) if known else None for value, known in zip(means, inside, strict=True)]
