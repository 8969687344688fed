"""Tables from what `gamelane-traffic` recorded of real packets, 40 bytes a record (crates/generator/src/record.rs).

What cannot be seen from the ends stays empty: queues, and why a packet was lost. `queue_delay_ms` is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from gamelane.errors import RecordsError
from gamelane.records.frames import DIRECTIONS, KINDS, REASONS, SIDES, TABLES

RECORD = np.dtype(
    [
        ("what", "u1"),
        ("direction", "u1"),
        ("flow", "<u2"),
        ("payload", "<u4"),
        ("session", "<u8"),
        ("number", "<u4"),
        ("_", "<u4"),
        ("at_ns", "<u8"),
        ("value_ns", "<u8"),
    ]
)
SENT, RECEIVED, DUPLICATE, ROUND_TRIP = range(4)
UNKNOWN = np.iinfo(np.uint64).max
HEADERS = 28
"""IPv4 and UDP."""

Records = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Match:
    """What both ends recorded of the same run. The server's may be missing: it is on another host."""

    client: Records
    server: Records | None

    @property
    def began_ns(self) -> int:
        """When the client's first packet was due, or came."""
        sent = self.client[self.client["what"] == SENT]
        starts = sent["at_ns"] - np.minimum(sent["value_ns"], sent["at_ns"])
        return int(min(starts.min(initial=UNKNOWN), self.client["at_ns"].min(initial=UNKNOWN)))

    def sender(self, direction: int) -> Records | None:
        """Return the records of the end that sends this way."""
        return self.client if direction == 0 else self.server

    def receiver(self, direction: int) -> Records | None:
        """Return the records of the end that receives this way."""
        return self.server if direction == 0 else self.client


def read(client: Path, server: Path | None = None) -> Match:
    """Read the files of one or both ends. Sessions of others that the server had are left out."""
    ours = _read(client)
    theirs = None if server is None else _read(server)
    if theirs is not None:
        theirs = theirs[np.isin(theirs["session"], np.unique(ours["session"]))]
    return Match(ours, theirs)


def _read(path: Path) -> Records:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordsError(f"{path}: cannot be read: {error.strerror}") from error
    whole = len(data) // RECORD.itemsize * RECORD.itemsize  # a program that was killed leaves part of one
    records = np.frombuffer(data[:whole], dtype=RECORD)
    if len(records) and (records["what"].max() > ROUND_TRIP or records["direction"].max() > 1):
        raise RecordsError(f"{path}: these are no records of gamelane-traffic")
    return records


def frames(
    match: Match, names: Sequence[str], *, variant: str, variants: Sequence[str], seed: int
) -> dict[str, pl.DataFrame]:
    """Return the tables of docs/records.md; `names` are the scenario's flows in its order."""
    tables = _Tables(match, names, variant, variants, seed)
    empty = {name: tables.empty(name) for name in TABLES}
    return {**empty, "rtt": tables.rtt(), "delay": tables.delay(), "windows": tables.windows(), "drops": tables.drops()}


@dataclass(frozen=True)
class _Tables:
    match: Match
    names: Sequence[str]
    variant: str
    variants: Sequence[str]
    seed: int

    def rtt(self) -> pl.DataFrame:
        of = _only(self.match.client, ROUND_TRIP, 0)
        return self._frame("rtt", flow=of["flow"], t_s=self._t_s(of["at_ns"]), rtt_ms=of["value_ns"] / 1e6)

    def delay(self) -> pl.DataFrame:
        parts = []
        for direction in (0, 1):
            receiver = self.match.receiver(direction)
            if receiver is not None:
                of = _only(receiver, RECEIVED, direction)
                parts.append(of[of["value_ns"] != UNKNOWN])
        of = np.concatenate(parts)
        return self._frame(
            "delay",
            flow=of["flow"],
            direction=of["direction"],
            t_s=self._t_s(of["at_ns"]),
            queue_delay_ms=np.full(len(of), np.nan),
            one_way_ms=of["value_ns"] / 1e6,
        ).with_columns(pl.col("queue_delay_ms").fill_nan(None))

    def windows(self) -> pl.DataFrame:
        rows = []
        for direction in (0, 1):
            for flow in range(len(self.names)):
                counts = self._counts(flow, direction)
                if counts is not None:
                    rows.append(counts)
        columns = {
            key: np.concatenate([row[key] for row in rows]) if rows else np.empty(0)
            for key in ("flow", "direction", "t_s", "sent", "received", "lost", "marked", "bytes")
        }
        return self._frame("windows", **columns)

    def drops(self) -> pl.DataFrame:
        parts = [of for direction in (0, 1) if (of := self._lost(direction)) is not None]
        of = np.concatenate(parts) if parts else np.empty(0, dtype=RECORD)
        of = of[np.argsort(of["at_ns"], kind="stable")]
        path = np.full(len(of), REASONS.index("path"))
        return self._frame("drops", t_s=self._t_s(of["at_ns"]), flow=of["flow"], direction=of["direction"], reason=path)

    def empty(self, table: str) -> pl.DataFrame:
        return self._frame(table, **dict.fromkeys(TABLES[table], np.empty(0)))

    def _lost(self, direction: int) -> Records | None:
        """Return what was sent and never arrived; None if not both ends were recorded."""
        sender, receiver = self.match.sender(direction), self.match.receiver(direction)
        if sender is None or receiver is None:
            return None
        sent = _only(sender, SENT, direction)
        return sent[~np.isin(_names(sent), _names(_only(receiver, RECEIVED, direction)))]

    def _counts(self, flow: int, direction: int) -> dict[str, npt.NDArray[Any]] | None:
        sender, receiver = self.match.sender(direction), self.match.receiver(direction)
        lost = self._lost(direction)
        sent = None if sender is None else _of(_only(sender, SENT, direction), flow)
        got = None if receiver is None else _of(_only(receiver, RECEIVED, direction), flow)
        seconds = [self._t_s(of["at_ns"]).max(initial=-1) for of in (sent, got) if of is not None]
        length = int(max(seconds, default=-1)) + 1
        if length == 0:
            return None
        per = np.zeros(length)

        def count(of: Records | None, weights: Floats | None = None) -> Floats:
            if of is None:
                return per
            at = np.maximum(self._t_s(of["at_ns"]), 0).astype(np.int64)
            return np.bincount(at, weights=weights, minlength=length).astype(np.float64)

        return {
            "flow": np.full(length, flow),
            "direction": np.full(length, direction),
            "t_s": np.arange(length, dtype=np.float64),
            "sent": count(sent),
            "received": count(got),
            "lost": count(None if lost is None else _of(lost, flow)),
            "marked": per,
            "bytes": count(got, None if got is None else got["payload"].astype(np.float64) + HEADERS),
        }

    def _t_s(self, at_ns: npt.NDArray[np.uint64]) -> Floats:
        return (at_ns.astype(np.int64) - self.match.began_ns).astype(np.float64) / 1e9

    def _frame(self, table: str, **columns: npt.NDArray[Any]) -> pl.DataFrame:
        enums = {
            "flow": pl.Enum(list(self.names)),
            "direction": pl.Enum(DIRECTIONS),
            "reason": pl.Enum(REASONS),
            "side": pl.Enum(SIDES),
            "kind": pl.Enum(KINDS),
        }

        def series(name: str) -> pl.Series:
            if name in enums:
                return pl.Series(name, columns[name].astype(np.uint32)).cat.to(enums[name])
            return pl.Series(name, columns[name]).cast(_type(name))

        first = [
            pl.lit(self.variant, dtype=pl.Enum(list(self.variants))).alias("variant"),
            pl.lit(self.seed, dtype=pl.UInt64).alias("seed"),
        ]
        return pl.DataFrame([series(name) for name in TABLES[table]]).select(*first, pl.all())


def _only(records: Records, what: int, direction: int) -> Records:
    found: Records = records[(records["what"] == what) & (records["direction"] == direction)]
    return found


def _of(records: Records, flow: int) -> Records:
    found: Records = records[records["flow"] == flow]
    return found


def _names(records: Records) -> npt.NDArray[np.uint64]:
    """One number for each packet of a direction; sessions are drawn from 64 bits, so they differ."""
    names: npt.NDArray[np.uint64] = records["session"] ^ (records["number"].astype(np.uint64) * SPREAD)
    return names


SPREAD = np.uint64(0x9E3779B97F4A7C15)


def _type(column: str) -> pl.DataType:
    if column.endswith(("_ms", "_s")):
        return pl.Float64()
    if column.endswith(("bytes", "_bps")):
        return pl.UInt64()
    return pl.UInt16() if column in ("retransmissions", "itself", "included") else pl.UInt32()


QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}


def summary(tables: Mapping[str, pl.DataFrame], apps: Mapping[str, str], *, seed: int) -> dict[str, Any]:
    """Return an element of `runs` in docs/json-schema.md, as far as the ends can tell."""
    flows = {}
    for name, app in apps.items():
        own = {key: tables[key].filter(pl.col("flow") == name) for key in ("rtt", "windows")}
        ways = {way: own["windows"].filter(pl.col("direction") == way) for way in DIRECTIONS}
        if own["windows"].is_empty():
            continue
        flows[name] = {
            "app": app,
            **{way: _direction(ways[way]) for way in DIRECTIONS},
            "rtt_ms": _distribution(own["rtt"]["rtt_ms"]),
            "rtt_samples": own["rtt"].height,
            "goodput_bps": _mean(ways["down"]["bytes"] * 8),
        }
    return {"seed": seed, "flows": flows, "queues": {}}


def _direction(windows: pl.DataFrame) -> dict[str, Any]:
    sent, received, lost = (int(windows[key].sum()) for key in ("sent", "received", "lost"))
    rates = windows["bytes"][:-1] * 8  # the last second is not whole
    mean = _mean(rates)
    return {
        "sent": sent,
        "received": received,
        "lost": lost,
        "marked": 0,
        "loss": lost / sent if sent else 0.0,
        "throughput_bps": {"mean": mean, "cv": _mean((rates - mean) ** 2) ** 0.5 / mean if mean else 0.0},
        "queue_delay_ms": _distribution(pl.Series([], dtype=pl.Float64)),
    }


def _mean(of: pl.Series) -> float:
    return float(of.cast(pl.Float64).mean() or 0.0) if len(of) else 0.0  # type: ignore[arg-type]


def _distribution(of: pl.Series) -> dict[str, float | None]:
    values = of.to_numpy()
    if not len(values):
        return dict.fromkeys(("mean", *QUANTILES, "max"))
    quantiles = {key: float(np.quantile(values, share)) for key, share in QUANTILES.items()}
    return {"mean": float(values.mean()), **quantiles, "max": float(values.max())}
