"""Rates as scenarios write them."""

from __future__ import annotations

import re

RATE = re.compile(r"([\d.]+)(bit|kbit|mbit|gbit)")
FACTORS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def bits_per_second(rate: str) -> float | None:
    """`12mbit` is 12,000,000; None if this is no rate."""
    match = RATE.fullmatch(rate)
    return None if match is None else float(match[1]) * FACTORS[match[2]]
