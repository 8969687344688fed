"""Presents a measurement of a line: text for the terminal, JSON, and the beginning of its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from gamelane.advise.measured import Measured
from gamelane.analysis import line
from gamelane.analysis.bottleneck import Link
from gamelane.report.sheets import Heading, Sheet

SCHEMA = 1
CLOCK = (
    "The clocks of the two ends differ. One-way delays may be wrong by up to {:.2f} ms, half of the least round trip."
)
AT_LIMIT = 0.98
"""Share of the server's limit from which the limit, not the line, may be what was measured (our choice)."""


def show(of: Measured, console: Console) -> None:
    """Print a table of the phases, the grades, and what is uncertain."""
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
    for phase in of.phases:
        table.add_row(phase.name, *_cells(phase))
    console.print(table)
    console.print()
    for text in filter(None, (verdict(of), *graded(of), *limits(of))):
        console.print(text)
    if clock(of):
        console.print(clock(of), style="dim")


def sheet(of: Measured) -> Sheet:
    """Return the table of the phases for a page."""
    headings = (
        Heading("phase"),
        Heading("RTT p50", "ms"),
        Heading("p95", "ms"),
        Heading("up p50", "ms"),
        Heading("p95", "ms"),
        Heading("down p50", "ms"),
        Heading("p95", "ms"),
        Heading("lost up", "%"),
        Heading("lost down", "%"),
        Heading("reordered"),
        Heading("up", "Mbit/s"),
        Heading("down", "Mbit/s"),
    )
    caption = (
        "Round trip; one-way delays; lost and reordered packets; payload of the TCP load. The first "
        f"{line.OMITTED_S:g} s of a load are left out, or {line.OMITTED_SHARE:.0%} of a short one."
    )
    return Sheet("The phases", headings, tuple((phase.name, *_cells(phase)) for phase in of.phases), caption)


def _cells(phase: line.Phase) -> list[str]:
    ways = (phase.up, phase.down)
    return [
        *(_cell(phase.rtt_ms, key) for key in ("p50", "p95")),
        *(_cell(way.one_way_ms, key) for way in ways for key in ("p50", "p95")),
        *(_number(way.loss_percent) for way in ways),
        str(sum(way.reordered for way in ways)),
        *(_number(way.mbps) for way in ways),
    ]


def verdict(of: Measured) -> str:
    """Return bufferbloat and its grade in words; why there is none if a phase is missing."""
    added, letter = line.bufferbloat_ms(of.whole), line.bufferbloat_letter(of.whole)
    if added is not None and letter is not None:
        return f"Bufferbloat {added:.1f} ms, grade {letter}: {line.MEANING[letter]}."
    missing = line.without_trips(of.whole)
    if not missing:
        return ""
    phases = f"phase{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    why = f"No grade: {phases} {'have' if len(missing) > 1 else 'has'} no complete measurement of round trips."
    return why if added is None else f"Bufferbloat at least {added:.1f} ms. {why}"


def graded(of: Measured) -> list[str]:
    """Return what each phase means for games and calls."""
    said = []
    for grade in map(line.grade, of.phases):
        if grade is not None:
            call = "" if grade.call_mos is None else f", a call {grade.call_mos:.1f} of 4.5"
            said.append(
                f"{grade.phase}: a shooter is {grade.shooter}; a cloud game scores {grade.cloud_mos:.1f} of 4.6{call}."
            )
    return said


def limits(of: Measured) -> list[str]:
    """Compare what TCP got with the access plan, and say in which phases the server's limit was reached."""
    return [*_sold(of), *_limited(of)]


def _sold(of: Measured) -> list[str]:
    if of.sold is None:
        return []
    got = []
    for way, bought in (("down", of.sold.down_mbit), ("up", of.sold.up_mbit)):
        phase = of.phase(way)
        mbps = getattr(phase, way).mbps if phase else None
        if mbps is not None:
            got.append(f"{mbps:.1f} Mbit/s {way}" + (f" ({mbps / bought:.0%})" if bought else ""))
    return [f"You pay for {of.sold.title}. TCP got {' and '.join(got)}."] if got else []


def _limited(of: Measured) -> list[str]:
    limit = of.limit_mbit
    if limit is None:
        return []
    found = [
        phase.name
        for phase in of.phases
        if any(way.mbps is not None and way.mbps >= AT_LIMIT * limit for way in (phase.up, phase.down))
    ]
    why = f"The server limits each direction to {limit:g} Mbit/s (`gamelane serve --rate`)."
    return [f"{why} The line may be faster than measured: {', '.join(found)}."] if found else []


def clock(of: Measured) -> str:
    """Return what is uncertain about one-way delays; empty if both ends have one clock."""
    uncertain = (of.clocks or {}).get("uncertainty_ms")
    return "" if uncertain is None else CLOCK.format(uncertain)


def document(
    of: Measured, ended: dict[str, Any], grades: Sequence[line.Grade | None], link: Link | None
) -> dict[str, Any]:
    """Return the JSON of `gamelane measure` (docs/json-schema.md). `ended` is the last line of the program."""
    phases = [
        asdict(phase) | {"grade": None if grade is None else asdict(grade)}
        for phase, grade in zip(of.phases, grades, strict=True)
    ]
    return {
        "schema": SCHEMA,
        "host": of.host,
        "stopped": of.stopped,
        "failed": of.failed,
        "same_clock": ended["same_clock"],
        "clocks": of.clocks,
        "limit_mbit": of.limit_mbit,
        "plan": ended.get("plan"),
        "host_congestion": of.host_congestion,
        "sold": None if of.sold is None else asdict(of.sold),
        "imported": of.imported,
        "phases": phases,
        "bufferbloat_ms": of.bufferbloat_ms,
        "grade": of.grade,
        "link": None if link is None else asdict(link),
    }


def _cell(figures: Any, key: str) -> str:
    return _number(None if figures is None else figures[key])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
