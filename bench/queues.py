"""The table of docs/queues.md from a finished sweep of `queues`: `python bench/queues.py FOLDER`, Markdown on stdout.

Numbers are means over seeds and, behind a ±, half the width of their 95 % interval. A grade is of the means
(docs/models/quality.md).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gamelane.analysis.metrics import find
from gamelane.analysis.quality import grade
from gamelane.analysis.stats import Estimate
from gamelane.plot.style import QUEUES, half_width, number
from gamelane.sweep.records import Cell, SweepRecords, read

HOUSEHOLDS = {"wired": "Wired, 12/1 Mbit/s", "docsis": "Cable modem, 12/1 Mbit/s", "wifi-g": "Wi-Fi, 802.11g"}

COLUMNS = (
    ("game p50, ms", "p50(game.rtt)", 1),
    ("p99, ms", "p99(game.rtt)", 1),
    ("loss, %", "game.loss", 100),
    ("G-model", "g_model(game)", 1),
    ("upload, Mbit/s", "upload.goodput", 1e-6),
    ("download, Mbit/s", "download.goodput", 1e-6),
    ("video stalls, s", "video.stall", 1),
    ("video chunks", "video.chunks", 1),
    ("web pages", "web.transfers", 1),
    ("web p50, ms", "p50(web.transfer)", 1),
    ("web p95, ms", "p95(web.transfer)", 1),
)
"""Heading, metric, factor. Delays are round trips of 40 ms and what the queues add."""


def title(values: Mapping[str, str]) -> str:
    """A queue, with what is done about ACKs or windows beside it."""
    label = QUEUES[values["gateway.*.queue"]][0]
    if values["gateway.*.acks"] == "prioritise":
        label += ", ACKs first"
    return f"VoAP, {label}" if values["gateway.voap"] != "false" else label


def cell_text(of: Estimate, factor: float) -> str:
    """A mean and half its interval."""
    if of.mean is None:
        return "n/a"
    scaled = Estimate(of.mean * factor, None if of.ci95 is None else of.ci95 * factor)
    half = half_width(scaled)
    return number(scaled.mean) + (f" ±{half}" if half and float(half) else "")


def game_grade(records: SweepRecords, cell: Cell) -> str:
    """The worst of round trip, loss and jitter, as words."""

    def mean(name: str) -> float:
        value = cell.estimate(find(name, records.metrics)).mean
        return float("nan") if value is None else value

    jitter = max(mean(f"p95(game.{way}.jitter)") for way in ("up", "down"))
    return grade(rtt_ms=mean("mean(game.rtt)"), loss_percent=100 * mean("game.loss"), jitter_p95_ms=jitter)


def table(records: SweepRecords, kind: str) -> str:
    """One household's queues, a row each."""
    heads = ["queue", "grade", *(head for head, _, _ in COLUMNS)]
    lines = ["| " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * len(COLUMNS)]
    for cell in records.cells:
        if cell.values["link.kind"] != kind:
            continue
        numbers = [cell_text(cell.estimate(find(metric, records.metrics)), factor) for _, metric, factor in COLUMNS]
        lines.append("| " + " | ".join([title(cell.values), game_grade(records, cell), *numbers]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print a table for each household."""
    records = read(sys.argv[1])
    for kind, name in HOUSEHOLDS.items():
        print(f"### {name}\n\n{table(records, kind)}\n")


if __name__ == "__main__":
    main()
