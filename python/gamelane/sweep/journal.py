"""Stores finished runs in a file, one line per run with a checksum.

A line is the CRC-32 of its JSON in eight hex digits, a space, and the JSON. A process that dies leaves at most one
incomplete line. Reading skips incomplete or damaged lines, and their runs are repeated. Data reaches the disk within
`SYNC_S`; only a failure of the machine can lose it earlier.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gamelane.errors import OutputError

SYNC_S = 1.0
ID = re.compile(rb'\{"id":"([^"\\]*)",')


@dataclass(frozen=True)
class Done:
    """A finished run: its id, its cost, and its summary."""

    id: str
    seed: int
    cpu_seconds: float
    events: int
    summary: dict[str, Any]


class Journal:
    """A journal that is open for appending."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._end_torn_line()
        except OSError as error:
            raise _unwritable(path, error) from error
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, done: Done) -> None:
        """Append a run. If this fails, the partial line is removed and earlier runs are kept."""
        line = encode(done)
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
            self._sync()
        except OSError as error:
            os.ftruncate(self._file, before)
            raise _unwritable(self.path, error) from error

    def close(self) -> None:
        """Flush everything to the disk."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1

    def _sync(self) -> None:
        now = time.monotonic()
        if now - self._synced >= SYNC_S:
            os.fdatasync(self._file)
            self._synced = now

    def _end_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")


def encode(done: Done) -> bytes:
    """Return the line of a run."""
    text = json.dumps(vars(done), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(line: bytes) -> Done | None:
    """Read a line; None if it is incomplete or damaged."""
    text = _checked(line)
    if text is None:
        return None
    try:
        return Done(**json.loads(text))
    except (ValueError, TypeError):
        return None


def id_of(line: bytes) -> str | None:
    """Return the id of a line's run without reading its numbers; None if the line is incomplete or damaged."""
    text = _checked(line)
    found = None if text is None else ID.match(text)
    return None if found is None else found[1].decode()


def _checked(line: bytes) -> bytes | None:
    crc, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        return text if int(crc, 16) == zlib.crc32(text) else None
    except ValueError:
        return None


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield every line of a journal and its position. A missing journal has no lines."""
    at = 0
    try:
        with path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield at, line
                at += len(line)
    except FileNotFoundError:
        return


def read(path: Path) -> Iterator[Done | None]:
    """Yield every run of a journal in order; None for a damaged line."""
    return (decode(line) for _, line in lines(path))


def _unwritable(path: Path, error: OSError) -> OutputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    said = "the disk is full" if full else f"cannot write: {error.strerror}"
    hint = "make room" if full else "solve the problem"
    return OutputError(f"{path}: {said}\n  hint:    finished runs are kept; {hint} and run the same command again")
