"""The native columns of a run as polars frames: names instead of numbers, seconds and milliseconds instead of ns.

Every table starts with the columns `variant` and `seed`, so that runs can be put below one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

DIRECTIONS = ["up", "down"]
REASONS = ["tail", "overlimit", "aqm-enqueue", "aqm-dequeue", "link", "path", "ack-filter"]
SIDES = ["client", "server"]
KINDS = ["chunk", "stall", "transfer"]

NS_PER_S = 1e9
NS_PER_MS = 1e6

Columns = Mapping[str, npt.NDArray[np.generic]]

TABLES: dict[str, list[str]] = {
    "rtt": ["flow", "t_s", "rtt_ms"],
    "delay": ["flow", "direction", "t_s", "queue_delay_ms", "one_way_ms"],
    "windows": ["flow", "direction", "t_s", "sent", "received", "lost", "marked", "bytes"],
    "drops": ["t_s", "flow", "direction", "reason"],
    "tcp": [
        "t_s",
        "flow",
        "connection",
        "side",
        "cwnd_bytes",
        "ssthresh_bytes",
        "srtt_ms",
        "rto_ms",
        "in_flight_bytes",
    ],
    "queues": ["t_s", "direction", "packets", "bytes"],
    "rates": ["t_s", "direction", "shaped_bps", "link_bps"],
    "app": ["t_s", "flow", "kind", "index", "bytes", "took_ms"],
    "deliveries": ["t_s", "flow", "direction", "player", "delay_ms", "held_ms"],
    "retransmissions": [
        "t_s",
        "flow",
        "connection",
        "retransmissions",
        "itself",
        "included",
        "delay_ms",
        "application_delay_ms",
    ],
}
"""Columns of each table after `variant` and `seed` (docs/records.md says what they mean)."""


@dataclass(frozen=True)
class Flows:
    """Flows of one variant, in native order, among those of all variants: a variant may leave flows out."""

    own: Sequence[str]
    all: Sequence[str]

    def numbers(self) -> npt.NDArray[np.uint32]:
        """Return the position among all flows of each of the variant's own."""
        return np.array([self.all.index(name) for name in self.own], dtype=np.uint32)


def frames(
    tables: Mapping[str, Columns], *, run: tuple[str, int], variants: Sequence[str], flows: Flows
) -> dict[str, pl.DataFrame]:
    """Return every table of one run, which is the `run` of (variant, seed)."""
    variant, seed = run
    names = {
        "flow": pl.Enum(flows.all),
        "direction": pl.Enum(DIRECTIONS),
        "reason": pl.Enum(REASONS),
        "side": pl.Enum(SIDES),
        "kind": pl.Enum(KINDS),
    }
    common = [
        pl.lit(variant, dtype=pl.Enum(variants)).alias("variant"),
        pl.lit(seed, dtype=pl.UInt64).alias("seed"),
    ]
    numbered = {table: {**columns} for table, columns in tables.items()}
    for columns in numbered.values():
        if "flow" in columns:
            columns["flow"] = flows.numbers()[columns["flow"]]
    return {
        table: pl.DataFrame([_series(column, numbered[table], names) for column in columns]).select(*common, pl.all())
        for table, columns in TABLES.items()
    }


def _series(column: str, native: Columns, names: Mapping[str, pl.Enum]) -> pl.Series:
    if column in names:
        return pl.Series(column, native[column].astype(np.uint32)).cat.to(names[column])
    if column.endswith("_ms"):
        return _milliseconds(column, native[column.removesuffix("_ms") + "_ns"])
    if column.endswith("_s"):
        return pl.Series(column, native[column.removesuffix("_s") + "_ns"].astype(np.float64) / NS_PER_S)
    series = pl.Series(column, native[column])
    if column == "link_bps":
        return series.set(series == 0, None)
    if column == "ssthresh_bytes":
        return series.set(series >= UNBOUNDED, None)
    return series


def _milliseconds(column: str, nanoseconds: npt.NDArray[np.generic]) -> pl.Series:
    series = pl.Series(column, nanoseconds.astype(np.float64) / NS_PER_MS)
    return series.set(series == 0, None) if column == "srtt_ms" else series


UNBOUNDED = 2**32
"""A slow start threshold from here on has not been set yet."""
