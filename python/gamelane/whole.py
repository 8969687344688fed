"""Files that are whole or not there: whoever reads one sees what was before or all of what is new, never a part."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gamelane.errors import OutputError


def replace(path: Path, text: str) -> None:
    """Write a file in place of what was there, at once."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        on_disk(partial)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"{path}: {error.strerror or error}") from error


def document(of: Any) -> str:
    """Return JSON as files have it: indented, readable, without what JSON does not know."""
    return json.dumps(of, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def on_disk(path: Path) -> None:
    """Wait until the system has written a file down."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
