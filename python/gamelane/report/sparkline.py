"""Draws values as blocks in text. A console that cannot encode blocks gets ASCII characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*%#"
"""Nine heights. The first stands for zero."""


def chart(values: Sequence[float], top: float, height: int, *, ascii_only: bool = False) -> list[str]:
    """Return `height` lines, the highest first, with a cell for each value. The value `top` fills all of them."""
    levels = ASCII if ascii_only else BLOCKS
    each = len(levels) - 1
    filled = [math.ceil(max(value, 0) / top * height * each) for value in values]
    return [
        "".join(levels[min(max(blocks - below * each, 0), each)] for blocks in filled)
        for below in reversed(range(height))
    ]
