"""Writes files atomically: a reader sees the old content or all of the new, never a part. Errors name the file."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gamelane.errors import OutputError, UsageError
from gamelane.interrupts import uninterrupted

PREFIX = ".gamelane-"
"""Begins the names of what exists only while a command runs."""


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn a system error in the block into one that names the file or folder being written."""
    try:
        yield
    except OutputError:
        raise
    except Exception as error:
        if (why := reason(error)) is None:
            raise
        raise OutputError(f"{place}: {why}") from error


def reason(error: Exception) -> str | None:
    """Return the system's words for an error, or None if it is no system error."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # Errors from Rust, where Polars takes some for errors of computing.
    if number := re.search(r"\(os error (\d+)\)", str(error)):
        return os.strerror(int(number[1]))
    if "transport error" in str(error):  # of Parquet's footer
        return "cannot be written; the disk may be full"
    return str(error) if isinstance(error, OSError) else None


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """Give a path to write to. What is there at the end of the block replaces `path`, unless the block fails."""
    partial = _partial(path)
    try:
        with writing(path):
            yield partial
            on_disk(partial)
            partial.replace(path)
    finally:
        with uninterrupted():
            partial.unlink(missing_ok=True)


def replace(path: Path, text: str) -> None:
    """Replace a file by this text, atomically."""
    with file(path) as partial:
        partial.write_text(text, encoding="utf-8")


class Together:
    """Files of a folder that appear together when the block ends. If the block fails, the folder stays as it was."""

    def __init__(self, folder: Path, last: str = "", stale: Sequence[str] = ()) -> None:
        """`last` is a file that says that the folder is complete. It disappears first and appears last.

        `stale` are patterns of files of an earlier command, which must not stay beside the new ones.
        """
        self.folder = folder
        self.staging = folder / f"{PREFIX}partial"
        """Where the files are until the end of the block, under their own names."""
        self.last = last
        self.stale = stale
        self._names: list[str] = []

    def __enter__(self) -> Together:
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        return self

    @contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """Give a path to write to. The name may have a folder: `figures/rtt.svg`."""
        self._names.append(name)
        with writing(self.folder / name):
            (self.staging / name).parent.mkdir(parents=True, exist_ok=True)
            yield self.staging / name
            on_disk(self.staging / name)

    def listed(self) -> list[dict[str, Any]]:
        """Describe the files so far, for a manifest."""
        return [described(self.staging / name, name) for name in self._names]

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with uninterrupted():
            try:
                if kind is None:
                    self._appear()
            finally:
                shutil.rmtree(self.staging, ignore_errors=True)

    def _appear(self) -> None:
        names = sorted(self._names, key=lambda name: name == self.last)
        with writing(self.folder):
            for name in names:
                (self.folder / name).parent.mkdir(exist_ok=True)
            if self.last:
                (self.folder / self.last).unlink(missing_ok=True)
            for path in (found for pattern in self.stale for found in self.folder.glob(pattern)):
                if str(path.relative_to(self.folder)) not in names:
                    path.unlink()
            for name in names:
                (self.staging / name).replace(self.folder / name)


def described(path: Path, name: str) -> dict[str, Any]:
    """Return an entry of a manifest: name, size and SHA-256 of a file."""
    import hashlib  # noqa: PLC0415 - loads slowly, and most commands write nothing

    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"name": name, "bytes": path.stat().st_size, "sha256": digest}


def claim(folder: Path) -> int:
    """Lock a folder against a second command that writes to it, and remove what a killed one left.

    The lock lasts until the returned file is closed. Raises UsageError if there is a second command.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise UsageError(
            f"{folder}: another gamelane is writing to this folder\n"
            "  hint:    wait for it, or choose another folder with -o"
        ) from None
    except OSError:
        return held  # a file system without locks
    for left in (*folder.glob(f"{PREFIX}*"), *folder.glob(f"*/{PREFIX}*")):
        with suppress(OSError):  # nothing depends on it
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return held


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Lock a folder during a block, as `claim` does."""
    held = claim(folder)
    try:
        yield
    finally:
        os.close(held)


def document(of: Any) -> str:
    """Return JSON as files hold it: indented, and without NaN or infinity."""
    return json.dumps(of, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def on_disk(path: Path) -> None:
    """Wait until the file is on disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _partial(path: Path) -> Path:
    return path.with_name(f"{PREFIX}{path.name}.partial")
