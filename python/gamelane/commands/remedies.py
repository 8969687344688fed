"""`gamelane remedies`: ranks remedies for a game over TCP, with their cost on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from gamelane import experiment
from gamelane.errors import UsageError
from gamelane.plot.style import number
from gamelane.remedies import KINDS, PLAIN, REMEDIES, Ranking, rank
from gamelane.report.columns import Column, lines, width
from gamelane.report.sheets import write_remedies
from gamelane.terminal.talk import deliver, progress, say_where, stdout, writable

Tails = tuple[tuple[str, str], ...]


def remedies(
    scenario: str,
    loss: str,
    burst: float,
    repeat: int,
    threads: int,
    json: bool,
    out: Path | None,
    quiet: bool,
) -> None:
    """Rank remedies for a game over TCP by message delay, with their cost in packets and bytes."""
    losses = _losses(loss)
    chosen = experiment.load(scenario)
    folder = None if out is None else writable(out)
    with progress(quiet=quiet) as bar:
        task = bar.add_task("remedies", total=len(REMEDIES) * len(KINDS) * len(losses) * repeat)
        ranking = rank(
            chosen,
            losses=losses,
            burst=burst,
            seeds=repeat,
            threads=threads,
            on_run=lambda: bar.update(task, advance=1),
        )
    document = _document(ranking)
    file = None if folder is None else folder / "remedies.json"
    deliver(document, file, lambda: show(ranking, stdout()), json=json)
    if folder is not None:
        page = write_remedies(folder, ranking)
        say_where(page, quiet=quiet)


def _losses(text: str) -> list[float]:
    try:
        losses = [float(word) for word in text.split(",")]
    except ValueError:
        losses = []
    if not losses or not all(0 < percent < MOST for percent in losses):
        raise UsageError(
            f"--loss {text}: not a list of loss rates\n"
            f"  allowed: percentages above 0 and below {MOST}, for example 0.5,1,2,5"
        )
    return losses


MOST = 50


def _document(ranking: Ranking) -> dict[str, Any]:
    return {
        "schema": 1,
        "scenario": ranking.scenario,
        "flow": ranking.flow,
        "seeds": list(ranking.seeds),
        "burst_packets": ranking.burst_packets,
        "order": list(ranking.order),
        "remedies": {name: REMEDIES[name] for name in ranking.order},
        "measured": [asdict(each) for each in ranking.measured],
    }


def show(ranking: Ranking, console: Console) -> None:
    """Print a table for each kind of loss, with the best remedy first. A narrow terminal has no 99.9 % delays."""
    losses = list(dict.fromkeys(each.loss_percent for each in ranking.measured))
    words = {"random": "random loss", "bursts": f"burst loss, {ranking.burst_packets:g} packets per burst"}
    middle = losses[len(losses) // 2 - 1] if len(losses) > 1 else losses[0]
    tails = TAILS
    while len(tails) > 1 and any(
        width(_columns(ranking, kind, losses, middle, tails)) > console.width for kind in KINDS
    ):
        tails = tails[:-1]
    for kind in KINDS:
        console.print(Text(words[kind], style="italic"))
        head, rows = lines(_columns(ranking, kind, losses, middle, tails))
        for line in [*head, *rows]:
            console.print(Text(line), soft_wrap=True)
        console.print()
    notes = (
        f"{ranking.scenario}, {ranking.flow}: delay from write to delivery at the players, by loss rate of the link in "
        f"each direction. Packets and bytes at {middle:g} % loss, relative to `{PLAIN}`. "
        f"Mean of {len(ranking.seeds)} {'run' if len(ranking.seeds) == 1 else 'runs'}."
    )
    if tails != TAILS:
        notes += " Wider terminals also show the 99.9 % delay."
    console.print(Text(notes, style="dim"))


TAILS: Tails = (("99", "delivery_p99_ms"), ("99.9", "delivery_p999_ms"))
"""Quantiles of the delay, in percent, and their names in a measurement."""


def _columns(ranking: Ranking, kind: str, losses: Sequence[float], middle: float, tails: Tails) -> list[Column]:
    def delays(loss: float) -> list[str]:
        found = [ranking.at(remedy, kind, loss) for remedy in ranking.order]
        return [" / ".join(number(getattr(each, key).mean) for _, key in tails) for each in found]

    costs = [ranking.at(remedy, kind, middle) for remedy in ranking.order]
    above = f"{' / '.join(percent for percent, _ in tails)} % ms"
    return [
        Column("", ranking.order),
        *(Column(f"{loss:g} %\n{above}", delays(loss), number=True) for loss in losses),
        Column("packets\n%", [number(each.packets_percent.mean) for each in costs], number=True),
        Column("bytes\n%", [number(each.bytes_percent.mean) for each in costs], number=True),
    ]
