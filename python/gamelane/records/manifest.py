"""Reads the JSON document that describes a folder: the manifest of records, sweeps and others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gamelane.errors import RecordsError


def read(path: Path, *, schema: int, holds: str, command: str) -> dict[str, Any]:
    """Return the document at `path`. Errors say what the folder should hold (`holds`) and which `command` writes it."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordsError(
            f"{path.parent}: there is no {path.name} in this folder, so it does not hold {holds}\n"
            f"  hint:    `{command} -o {path.parent}` writes {holds}"
        ) from None
    except (OSError, ValueError) as error:
        raise RecordsError(f"{path}: cannot be read: {error}") from error
    if document.get("schema") != schema:
        raise RecordsError(
            f"{path}: schema {document.get('schema')!r}; this gamelane reads schema {schema}\n"
            f"  hint:    it was written by gamelane {document.get('gamelane', 'of unknown version')}"
        )
    return document
