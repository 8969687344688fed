"""Numbers with units as `tc` writes them: bounds of budgets, the order of axes, what options are given."""

from __future__ import annotations

import re

UNITS: dict[str, dict[str, float]] = {
    "ms": {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 60e3},
    "s": {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "B": {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30},
    "bit/s": {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "share": {"%": 0.01, "": 1.0},
    "": {"": 1.0},
}
"""What may stand behind a number of each unit, and the factor it stands for."""

NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z%]*)\s*")


def parse(text: str, unit: str) -> float | None:
    """Read `80ms` as a number of `unit`; None if it is none."""
    found = NUMBER.fullmatch(text)
    if found is None or found[2].lower() not in UNITS[unit]:
        return None
    return float(found[1]) * UNITS[unit][found[2].lower()]


def example(unit: str) -> str:
    """Return how a bound of this unit is written."""
    return {"ms": "80ms", "s": "2s", "bit/s": "5mbit", "B": "10KiB", "share": "1%", "": "10"}[unit]


def magnitude(text: str) -> float | None:
    """Read any number with any unit as one that can be compared with others of its kind."""
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    factors = {"": 1.0, "p": 1.0, "b": 1.0, "kib": 1024.0, "mib": 1024.0**2, "kb": 1e3, "mb": 1e6}
    factors |= UNITS["bit/s"] | UNITS["ms"] | {"%": 0.01}
    factor = factors.get(found[2].lower())
    return None if factor is None else float(found[1]) * factor
