"""Writes files atomically: a reader sees the old content or all of the new, never a part."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gamelane.errors import OutputError


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
