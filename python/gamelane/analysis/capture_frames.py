"""Writes the tables of an analyzed capture as Parquet, in parts while it is read, so memory use stays constant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from gamelane import whole

DIRECTIONS = ["up", "down"]
SIDES = ["server", "client"]
METHODS = ["acknowledgement", "timestamp", "both-halves"]
CAUSES = ["timeout", "fast", "tail-loss-probe", "timeout-or-probe", "unexplained"]

TABLES: dict[str, list[str]] = {
    "windows": ["capture", "flow", "direction", "t_s", "packets", "bytes", "resent"],
    "rtt": ["capture", "flow", "towards", "method", "t_s", "rtt_ms"],
    "retransmissions": ["capture", "flow", "direction", "t_s", "start", "len", "cause", "nth", "since_first_ms"],
    "delay": ["capture", "flow", "direction", "t_s", "delay_ms", "len", "itself", "included", "cause"],
}
"""Columns of each table, explained in docs/models/captures.md."""

WORDS = {"direction": DIRECTIONS, "towards": SIDES, "method": METHODS, "cause": CAUSES}
NO_CAUSE = 255


class TableWriter:
    """Writes batches of columns to part files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts: Counter[str] = Counter()
        for table in TABLES:
            for stale in (folder / "parts").glob(f"{table}-*.parquet"):
                stale.unlink()

    def __call__(self, capture: int, table: str, columns: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Write one batch of rows of one capture's table."""
        part = self.folder / "parts" / f"{table}-{self.parts[table]:06}.parquet"
        self.parts[table] += 1
        with whole.writing(part):
            part.parent.mkdir(exist_ok=True)
            _frame(capture, table, columns).write_parquet(part, compression="lz4")


def finish(folder: Path) -> None:
    """Join the parts of each table into one file."""
    parts = folder / "parts"
    with whole.writing(folder):
        for table in TABLES:
            files = sorted(parts.glob(f"{table}-*.parquet"))
            target = folder / f"{table}.parquet"
            if files:
                pl.scan_parquet(files).sink_parquet(target, compression="zstd", statistics=True)
            else:
                _frame(0, table, _nothing(table)).write_parquet(target, compression="zstd")
            for file in files:
                file.unlink()
        if parts.exists():
            parts.rmdir()


def _frame(capture: int, table: str, columns: Mapping[str, npt.NDArray[np.generic]]) -> pl.DataFrame:
    own = [column for column in TABLES[table] if column != "capture"]
    frame = pl.DataFrame([_series(column, columns) for column in own])
    return frame.select(pl.lit(capture, dtype=pl.UInt8).alias("capture"), pl.all())


def _series(column: str, native: Mapping[str, npt.NDArray[np.generic]]) -> pl.Series:
    if column in WORDS:
        numbers = native[column].astype(np.uint32)
        words = pl.Series(column, np.where(numbers == NO_CAUSE, 0, numbers)).cat.to(pl.Enum(WORDS[column]))
        return words.set(pl.Series(numbers == NO_CAUSE), None) if column == "cause" else words
    if column.endswith("_ms"):
        return pl.Series(column, native[column.removesuffix("_ms") + "_ns"].astype(np.float64) / 1e6)
    if column.endswith("_s"):
        return pl.Series(column, native[column.removesuffix("_s") + "_ns"].astype(np.float64) / 1e9)
    return pl.Series(column, native[column])


def _nothing(table: str) -> dict[str, npt.NDArray[np.generic]]:
    """Return columns without rows, in the types of the native module."""
    types: dict[str, type[np.generic]] = {
        "flow": np.uint32, "direction": np.uint8, "towards": np.uint8, "method": np.uint8, "cause": np.uint8,
        "packets": np.uint32, "bytes": np.uint64, "resent": np.uint32, "start": np.uint64, "len": np.uint32,
        "nth": np.uint16, "itself": np.uint16, "included": np.uint16,
    }  # fmt: skip
    names = [column.replace("_ms", "_ns").replace("t_s", "t_ns") for column in TABLES[table] if column != "capture"]
    return {name: np.array([], dtype=types.get(name, np.uint64)) for name in names}
