"""Draws values over time as one line of blocks in text. A cell that covers several values shows the highest.

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
    levels = ASCII if ascii_only else BLOCKS
    cells = [max(values[at : at + each]) for at in range(0, len(values), each)]
    highest = len(levels) - 1
    return "".join(levels[min(math.ceil(max(value, 0) / top * highest), highest)] for value in cells)
