"""Presents a measurement of a line: text for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from gamelane.analysis import line
from gamelane.analysis.bottleneck import Link

SCHEMA = 1


def show(found: Sequence[line.Phase], grades: Sequence[line.Grade | None], clock: str, console: Console) -> None:
    """Print a table of the phases, the grades, and what is uncertain about the clocks."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    columns = (
        "phase",
        "RTT p50\nms",
        "p95",
        "up p50\nms",
        "p95",
        "down\np50",
        "p95",
        "lost\nup %",
        "down",
        "re-\nord.",
    )
    for title in (*columns, "up\nMbit/s", "down"):
        table.add_column(title, justify="left" if title == "phase" else "right", no_wrap=True)
    for phase in found:
        ways = (phase.up, phase.down)
        table.add_row(
            phase.name,
            *(_cell(phase.rtt_ms, key) for key in ("p50", "p95")),
            *(_cell(way.one_way_ms, key) for way in ways for key in ("p50", "p95")),
            *(_number(way.loss_percent) for way in ways),
            str(sum(way.reordered for way in ways)),
            *(_number(way.mbps) for way in ways),
        )
    console.print(table)
    console.print()
    for text in _verdict(found, grades):
        console.print(text)
    if clock:
        console.print(clock, style="dim")


def _verdict(found: Sequence[line.Phase], grades: Sequence[line.Grade | None]) -> list[str]:
    said = []
    added = line.bufferbloat_ms(found)
    if added is not None:
        letter = line.bufferbloat_grade(added)
        said.append(f"Bufferbloat {added:.1f} ms, grade {letter}: {line.MEANING[letter]}.")
    for grade in grades:
        if grade is not None:
            call = "" if grade.call_mos is None else f", a call {grade.call_mos:.1f} of 4.5"
            said.append(
                f"{grade.phase}: a shooter is {grade.shooter}; a cloud game scores {grade.cloud_mos:.1f} of 4.6{call}."
            )
    return said


def document(
    host: str,
    ended: dict[str, Any],
    found: Sequence[line.Phase],
    grades: Sequence[line.Grade | None],
    link: Link | None,
) -> dict[str, Any]:
    """Return the JSON of `gamelane measure` (docs/json-schema.md). `ended` is the last line of the program."""
    added = line.bufferbloat_ms(found)
    phases = [
        asdict(phase) | {"grade": None if grade is None else asdict(grade)}
        for phase, grade in zip(found, grades, strict=True)
    ]
    return {
        "schema": SCHEMA,
        "host": host,
        "stopped": ended["stopped"],
        "failed": ended.get("failed"),
        "same_clock": ended["same_clock"],
        "clocks": ended["clocks"],
        "plan": ended.get("plan"),
        "imported": ended.get("imported"),
        "phases": phases,
        "bufferbloat_ms": added,
        "grade": None if added is None else line.bufferbloat_grade(added),
        "link": None if link is None else asdict(link),
    }


def _cell(figures: Any, key: str) -> str:
    return _number(None if figures is None else figures[key])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
