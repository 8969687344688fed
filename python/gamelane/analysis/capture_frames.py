"""Writes the tables of an analyzed capture as Parquet, in parts while it is read, so memory use stays constant."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from gamelane import whole
from gamelane.errors import OutputError
from gamelane.interrupts import uninterrupted

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
    """Writes batches of columns to part files, and joins them. The parts disappear at the end of its block.

    After an error it writes nothing more, so that the analysis goes on without tables. `join` raises that error.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = folder / f"{whole.PREFIX}parts"
        self.count: Counter[str] = Counter()
        self.failed: OutputError | None = None

    def __enter__(self) -> TableWriter:
        self._remove_parts()
        return self

    def __exit__(self, *_: object) -> None:
        with uninterrupted():
            self._remove_parts()

    def __call__(self, capture: int, table: str, columns: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Write one batch of rows of one capture's table."""
        if self.failed is not None:
            return
        try:
            with whole.writing(self.folder / f"{table}.parquet"):
                self.parts.mkdir(exist_ok=True)
                part = self.parts / f"{table}-{self.count[table]:06}.parquet"
                _frame(capture, table, columns).write_parquet(part, compression="lz4")
                self.count[table] += 1
        except OutputError as error:
            self.failed = error
            self._remove_parts()

    def join(self, files: whole.Together) -> None:
        """Join the parts of each table into one of the `files`."""
        if self.failed is not None:
            raise self.failed
        for table in TABLES:
            with files.file(f"{table}.parquet") as partial:
                self._join(table, partial)

    def _join(self, table: str, target: Path) -> None:
        if self.count[table]:
            parts = sorted(self.parts.glob(f"{table}-*.parquet"))
            pl.scan_parquet(parts).sink_parquet(target, compression="zstd", statistics=True)
        else:
            _frame(0, table, _nothing(table)).write_parquet(target, compression="zstd")

    def _remove_parts(self) -> None:
        shutil.rmtree(self.parts, ignore_errors=True)


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
