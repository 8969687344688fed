"""The map of a sweep on the terminal: short labels, and every number in 80 columns."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from gamelane import sweep
from gamelane.report.sweep.terminal import show
from gamelane.sweep.labels import labels

from .conftest import Write

LINKED = """
base = "{base}"
seeds = [7]

[set]
"duration" = "2s"

[[linked]]
"gateway.*.queue" = ["fifo", "fifo", "pie", "pie", "codel", "codel", "fq_pie", "fq_codel", "dualpi2"]
"gateway.*.limit" = ["1000p", "100p", "1000p", "100p", "1000p", "100p", "1000p", "1000p", "1000p"]

[[linked]]
"link.down" = ["12mbit", "50mbit"]
"link.up" = ["1mbit", "10mbit"]
"""


def _shown(folder: Path, width: int) -> list[str]:
    out = io.StringIO()
    show(sweep.read(folder), Console(file=out, width=width, markup=False))
    return out.getvalue().splitlines()


def test_a_map_of_linked_keys_shows_every_number_in_80_columns(write: Write, tmp_path: Path) -> None:
    """Regression: the label of nine queues was longer than the terminal, and every cell was an ellipsis."""
    sweep.make(write(LINKED), tmp_path / "out")
    for width in (80, 40):
        lines = _shown(tmp_path / "out", width)
        assert not any("…" in line for line in lines)
        assert max(map(len, lines)) <= width
        assert any(line.startswith("fifo, limit 100p ") and line.rstrip()[-1].isdigit() for line in lines)
        assert "queue: linked with gateway.*.limit" in lines


def test_a_map_that_cannot_be_turned_is_cut(write: Write, tmp_path: Path) -> None:
    many = ", ".join(f'"{rtt}ms"' for rtt in range(1, 15))
    text = LINKED.replace('["12mbit", "50mbit"]', f"[{many}]").replace('["1mbit", "10mbit"]', f"[{many}]")
    text = text.replace('"link.down"', '"link.rtt"').replace('"link.up"', '"link.jitter"')
    sweep.make(write(text), tmp_path / "out")
    lines = _shown(tmp_path / "out", 80)
    assert not any("…" in line for line in lines)
    assert sum(line.startswith("dualpi2 ") for line in lines) > 1
    assert sum(line.split().count("14ms") for line in lines) == 1


def test_a_label_is_the_first_value_and_what_is_unusual() -> None:
    words = ["queue", "acks", "voap"]
    rows = [("fifo", "plain", "false"), ("fifo", "plain", '{ data = "both" }'), ("pie", "plain", "false")]
    assert labels(words, rows) == ("fifo", "fifo, voap data = both", "pie")
    assert labels(["rtt"], [("20ms",), ("40ms",)]) == ("20ms", "40ms")
    assert labels(["down", "up"], [("1mbit", "x"), ("1mbit", "x")]) == ("1mbit / x", "1mbit / x")
