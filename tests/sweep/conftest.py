"""A sweep short enough to run often."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SWEEP = """
base = "{base}"
seeds = [7, 8]

[axes]
"gateway.*.queue" = ["fifo", "fq_codel"]
"link.rtt" = ["20ms", "40ms", "80ms"]

[budget]
"p99(quake3.rtt)" = "<= 120ms"
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(household: Path, tmp_path: Path) -> Write:
    """Write a sweep file of the short household."""

    def written(text: str) -> Path:
        path = tmp_path / "sweep.toml"
        path.write_text(text.replace("{base}", str(household)), encoding="utf-8")
        return path

    return written


@pytest.fixture
def small(write: Write) -> Path:
    return write(SWEEP)
