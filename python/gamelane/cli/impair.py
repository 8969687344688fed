"""`gamelane impair`: what a network does to packets, on real interfaces, and blind trials of what a player notices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gamelane import programs
from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.errors import UsageError
from gamelane.report.style import number
from gamelane.trials import analysis, blind

WORDS = ("run", "set", "show", "profiles", "check", "tune")
OWN = ("trial", "analyze")

commands = typer.Typer(add_completion=False, help="Blind trials.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "impair",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(impair)


def impair(context: typer.Context) -> None:
    """Delay and lose real packets: IF [--to IF] --delay 40ms|set|show|tune|check|profiles|trial|analyze."""
    words = context.args
    if words and words[0] in OWN:
        commands(args=words, prog_name="gamelane impair", standalone_mode=False)
        return
    if words and words[0] not in WORDS and not words[0].startswith("-"):
        words = ["run", *words]
    programs.IMPAIR.become(words)


@commands.command()
def trial(
    interface: Annotated[str, typer.Argument(metavar="IF", help="The interface that is impaired.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Log and plan; a trial begun there goes on.", show_default=False
        ),
    ],
    grid: Annotated[
        str, typer.Option(help="axes: each delay without loss and each loss without delay; full: every pair.")
    ] = "axes",
    repeat: Annotated[int, typer.Option(min=1, max=20, metavar="N", help="How often each condition comes.")] = 2,
    hold: Annotated[int, typer.Option(min=0, metavar="S", help="Seconds to play before rating.")] = 60,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Seed of the order.", show_default="drawn")] = None,
    player: Annotated[str, typer.Option(metavar="NAME", help="Who rates; a trial each.")] = "player",
) -> None:
    """Go through collom2016's Table II in random order; the player rates each condition without knowing it."""
    if grid not in blind.GRIDS:
        raise UsageError(f"--grid {grid}: no such grid\n  allowed: {', '.join(blind.GRIDS)}")
    if not player.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"--player {player}: letters, digits, - and _ only: it names a file")
    writable(out)
    plan = blind.open_plan(out / f"{player}.json", blind.Settings(grid, repeat, hold, seed))
    session = blind.Session(interface, plan, out / f"{player}.jsonl")
    done = session.run()
    say(f"{done} of {len(plan.order)} rated: `gamelane impair analyze {out}` tells what came of it")


@commands.command()
def analyze(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `trial -o` wrote.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/impair.md).")] = False,
) -> None:
    """Mean opinions with intervals, sensitivity to delay and loss, and a picture."""
    found = analysis.analyse(analysis.read(folder))
    pictures = analysis.draw(found, folder)
    if json:
        emit(found.as_json())
        return
    table = Table("delay, ms", "loss, %", "ratings", "mean opinion", "± 95 %", box=None, pad_edge=False)
    for each in found.conditions:
        table.add_row(
            f"{each.delay_ms:g}",
            f"{each.loss_percent:g}",
            str(len(each.ratings)),
            number(each.opinion.mean),
            number(each.opinion.ci95),
        )
    stdout().print(table)
    for line in found.words():
        stdout().print(f"* {line}", markup=False)
    say(f"pictures: {', '.join(map(str, pictures))}")
