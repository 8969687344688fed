"""Numbers with units, as scenarios have them: bounds of budgets, values of axes, options of commands."""

from __future__ import annotations

import math
import re

from gamelane import _native

KINDS: dict[str, tuple[str, float]] = {
    "ms": ("time", 1e6),
    "s": ("time", 1e9),
    "B": ("size", 1.0),
    "bit/s": ("rate", 1.0),
    "share": ("percentage", 1e8),
    "%": ("percentage", 1e6),
}
"""For each unit the kind that `_native` reads, and the unit in base units of that kind."""

EXAMPLES = {"ms": "80ms", "s": "2s", "bit/s": "5mbit", "B": "10KiB", "share": "1%", "%": "1%", "": "10"}

NUMBER_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z%]*)")
"""Takes a number and its unit apart, for labels and ranges. It does not check the unit."""


def parse(text: str, unit: str) -> float | None:
    """Read a text such as `80ms` as a number of `unit`; None if it is not one.

    A number without a unit is one of unit `""`, or a fraction of unit `share`.
    """
    if unit in {"", "share"} and (number := _number(text)) is not None:
        return number
    if unit not in KINDS:
        return None
    kind, base = KINDS[unit]
    value = _read(text, kind)
    return None if value is None else value / base


def example(unit: str) -> str:
    """Return how a bound of this unit is written: an example, and the other units."""
    if unit not in KINDS:
        return EXAMPLES[unit]
    return f"{EXAMPLES[unit]} (in {', '.join(_native.quantity_units(KINDS[unit][0]))})"


def magnitude(text: str) -> float | None:
    """Read any quantity as a number that can be compared with others of its kind; None if it is no quantity."""
    found = (_read(text, kind) for kind in ("rate", "time", "queue limit", "percentage"))
    return next((float(value) for value in found if value is not None), _number(text))


def _read(text: str, kind: str) -> int | None:
    try:
        return _native.read_quantity(text, kind)
    except ValueError:
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def rate_unit(highest_bps: float) -> tuple[str, float]:
    """Return the unit for rates up to the highest, and how many bits per second it is."""
    return ("Mbit/s", 1e6) if highest_bps >= 1e6 else ("kbit/s", 1e3)
