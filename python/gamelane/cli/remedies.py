"""`gamelane remedies`: ranks remedies for a game over TCP, with their cost on the wire."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane import experiment
from gamelane.cli import options
from gamelane.cli.talk import deliver, progress, say, stdout, writable
from gamelane.errors import UsageError
from gamelane.plot.style import number
from gamelane.remedies import BURST, KINDS, LOSSES, PLAIN, REMEDIES, Ranking, rank
from gamelane.report.sheets import write_remedies

USUAL = ",".join(f"{percent:g}" for percent in LOSSES)


@click.command()
@click.argument("scenario", default="thin-remedies", help='Scenario with a game over TCP (app = "mmo").')
@click.option("--loss", metavar="P,P,…", default=USUAL, help="Loss rates of the link in each direction, percent.")
@click.option(
    "--burst",
    type=click.FloatRange(1),
    metavar="N",
    default=BURST,
    help="Mean number of packets lost in a burst, for the runs with burst loss.",
)
@options.repeat(3, "Number of runs of each remedy and loss rate; seeds count up.")
@options.threads
@options.json
@options.output("Write remedies.json, report.html and figures/ to this folder.")
@options.quiet
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
        if not quiet:
            say(f"report: {page}")


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
    """Print a table for each kind of loss, with the best remedy first."""
    losses = list(dict.fromkeys(each.loss_percent for each in ranking.measured))
    words = {"random": "random loss", "bursts": f"burst loss, {ranking.burst_packets:g} packets per burst"}
    for kind in KINDS:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(words[kind], no_wrap=True)
        for loss in losses:
            table.add_column(f"{loss:g} %\n99 / 99.9 % ms", justify="right", no_wrap=True)
        table.add_column("packets\n%", justify="right")
        table.add_column("bytes\n%", justify="right")
        middle = losses[len(losses) // 2 - 1] if len(losses) > 1 else losses[0]
        for remedy in ranking.order:
            cells = [ranking.at(remedy, kind, loss) for loss in losses]
            cost = ranking.at(remedy, kind, middle)
            table.add_row(
                remedy,
                *(f"{number(cell.delivery_p99_ms.mean)} / {number(cell.delivery_p999_ms.mean)}" for cell in cells),
                number(cost.packets_percent.mean),
                number(cost.bytes_percent.mean),
            )
        console.print(table)
        console.print()
    notes = (
        f"{ranking.scenario}, {ranking.flow}: delay from write to delivery at the players, by loss rate of the link in "
        f"each direction. Packets and bytes at {middle:g} % loss, relative to `{PLAIN}`. "
        f"Mean of {len(ranking.seeds)} runs."
    )
    console.print(Text(notes, style="dim"))
