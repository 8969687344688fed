"""Turns a run's summary into one row: `flows.quake3.rtt_ms.p95` and so on, in the order of the summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flatten(summary: Mapping[str, Any]) -> dict[str, float | int | str | None]:
    """Return every leaf under its dotted path."""
    row: dict[str, float | int | str | None] = {}
    _into(row, "", summary)
    return row


def _into(row: dict[str, float | int | str | None], prefix: str, value: Mapping[str, Any]) -> None:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            _into(row, f"{prefix}{key}.", inner)
        else:
            row[f"{prefix}{key}"] = inner
