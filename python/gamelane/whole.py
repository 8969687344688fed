"""Writes files atomically: a reader sees the old content or all of the new, never a part. Errors name the file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gamelane.errors import OutputError


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn a system error in the block into one that names the file or folder being written."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{place}: {error.strerror or error}") from error


def replace(path: Path, text: str) -> None:
    """Replace a file by this text, atomically."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        on_disk(partial)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"{path}: {error.strerror or error}") from error


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
