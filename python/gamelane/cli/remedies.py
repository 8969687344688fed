"""`gamelane remedies`: what helps a game over TCP, and what it costs on the wire."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane import experiment, host
from gamelane.cli.talk import emit, progress, say, stdout, writable
from gamelane.errors import OutputError, UsageError
from gamelane.remedies import BURST, KINDS, LOSSES, REMEDIES, Ranking, rank
from gamelane.report import images
from gamelane.report.remedies import figures
from gamelane.report.style import number

USUAL = ",".join(f"{percent:g}" for percent in LOSSES)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("remedies")(remedies)


def remedies(
    scenario: Annotated[str, typer.Argument(help='A scenario with a game over TCP (app = "mmo").')] = "thin-remedies",
    loss: Annotated[str, typer.Option(metavar="P,P,…", help="Losses each way, in per cent.")] = USUAL,
    burst: Annotated[float, typer.Option(min=1, metavar="N", help="Packets that a burst loses in the mean.")] = BURST,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each, with seeds counting up.")] = 3,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at a time.", show_default="all cores")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write remedies.json and figures/ there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Rank remedies for a game over TCP by delivery delay, with their cost in packets and bytes."""
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
            threads=threads or host.cores(),
            on_run=lambda: bar.update(task, advance=1),
        )
    document = _document(ranking)
    if folder is not None:
        _write(folder, document, ranking)
    if json:
        emit(document)
    else:
        show(ranking, stdout())
    if folder is not None and not quiet:
        say(f"figures: {folder / 'figures'}")


def _losses(text: str) -> list[float]:
    try:
        losses = [float(word) for word in text.split(",")]
    except ValueError:
        losses = []
    if not losses or not all(0 < percent < MOST for percent in losses):
        raise UsageError(
            f"--loss {text}: these are no losses\n  allowed: per cent between 0 and {MOST}, e.g. 0.5,1,2,5"
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


def _write(folder: Path, document: dict[str, Any], ranking: Ranking) -> None:
    try:
        text = dumps(document, indent=2, ensure_ascii=False) + "\n"
        (folder / "remedies.json").write_text(text, encoding="utf-8")
        images.write(figures(ranking), folder / "figures")
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from error


def show(ranking: Ranking, console: Console) -> None:
    """Print a table for each kind of loss, best remedy first."""
    losses = list(dict.fromkeys(each.loss_percent for each in ranking.measured))
    words = {"random": "losses at random", "bursts": f"bursts of {ranking.burst_packets:g} packets"}
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
        f"{ranking.scenario}, {ranking.flow}: delay from the write to the delivery at the players; losses of the link,"
        f" each way; packets and bytes at {middle:g} %, of those as it is; mean of {len(ranking.seeds)} runs."
    )
    console.print(Text(notes, style="dim"))
