"""Draws values over time as blocks in text. A cell that covers several values shows the highest.

A console that cannot encode blocks gets ASCII characters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*%#"
"""Nine heights. The first stands for zero."""


def per_cell(values: Sequence[float], most: int) -> int:
    """Return the number of values for each cell, so that at most `most` cells show all of them."""
    return max(-(-len(values) // max(most, 1)), 1)


def sparkline(values: Sequence[float], each: int, top: float, *, ascii_only: bool = False) -> str:
    """Return a line with a cell for `each` values. `top` is the value of the highest block."""
    cells = [max(values[at : at + each]) for at in range(0, len(values), each)]
    return chart(cells, top, 1, ascii_only=ascii_only)[0]


def chart(values: Sequence[float], top: float, height: int, *, ascii_only: bool = False) -> list[str]:
    """Return `height` lines, the highest first, with a cell for each value. The value `top` fills all of them."""
    levels = ASCII if ascii_only else BLOCKS
    each = len(levels) - 1
    filled = [math.ceil(max(value, 0) / top * height * each) for value in values]
    return [
        "".join(levels[min(max(blocks - below * each, 0), each)] for blocks in filled)
        for below in reversed(range(height))
    ]
