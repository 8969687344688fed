"""`gamelane impair`: adds delay and loss to real packets, and runs blind trials of what a player notices."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.table import Table

from gamelane import programs
from gamelane.cli import options
from gamelane.cli.handover import Handover
from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.errors import UsageError
from gamelane.plot.style import number

WORDS = ("run", "set", "show", "profiles", "check", "tune")
trials = click.Group("impair", help="Blind trials of delay and loss.")


@click.command(cls=Handover)
@click.pass_context
def impair(context: click.Context) -> object:
    """Become `gamelane-impair` (docs/impair.md), except for `trial` and `analyze`, which run here."""
    words = context.args
    if words and words[0] in trials.commands:
        return trials.main(words, "gamelane impair", standalone_mode=False)
    if words and words[0] not in WORDS and not words[0].startswith("-"):
        words = ["run", *words]
    return programs.IMPAIR.become(words)


@trials.command()
@click.argument("interface", metavar="IF", help="Interface to impair.")
@options.output("Write plan and ratings to this folder. A trial that was started there continues.", required=True)
@click.option(
    "--grid",
    default="axes",
    help="axes: each delay without loss, and each loss without delay. full: every combination.",
)
@click.option(
    "--repeat", type=click.IntRange(1, 20), metavar="N", default=2, help="How often each condition is presented."
)
@click.option(
    "--hold", type=click.IntRange(5), metavar="S", default=60, help="Seconds of play before each rating, at least 5."
)
@click.option("--seed", type=int, metavar="N", show_default="random", help="Seed of the order.")
@click.option("--player", metavar="NAME", default="player", help="Name of the player. Each player has a trial.")
def trial(interface: str, out: Path, grid: str, repeat: int, hold: int, seed: int | None, player: str) -> None:
    """Play under the delays and losses of collom2016, Table II, in random order, and rate each without knowing it.

    Starts `gamelane impair IF`, unless it runs.
    """
    from gamelane.trials import blind  # noqa: PLC0415 - `impair IF` needs neither NumPy nor Altair
    from gamelane.trials.impairment import Impairment  # noqa: PLC0415 - likewise

    if grid not in blind.GRIDS:
        raise UsageError(f"--grid {grid}: unknown grid\n  allowed: {', '.join(blind.GRIDS)}")
    if not player.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"--player {player}: not a file name\n  allowed: letters, digits, - and _")
    if not sys.stdin.isatty():
        raise UsageError("a trial asks a player at a terminal, and standard input is none")
    writable(out, shared=True)
    plan = blind.open_plan(out / f"{player}.json", blind.Settings(grid, repeat, hold, seed))
    with Impairment(interface) as impairment:
        done = blind.Session(impairment.set, plan, out / f"{player}.jsonl", impairment.check).run()
    say(f"{done} of {len(plan.order)} conditions rated; `gamelane impair analyze {out}` shows the results")


@trials.command()
@click.argument("folder", metavar="DIR", type=options.PATH, help="Folder written by `trial -o`.")
@click.option("--json", is_flag=True, help="Print JSON (docs/impair.md).")
def analyze(folder: Path, json: bool) -> None:
    """Print mean opinion scores with intervals and the sensitivity to delay and loss; draw them."""
    from gamelane.trials import analysis  # noqa: PLC0415 - as in `trial`

    found = analysis.analyse(analysis.read(folder))
    pictures = analysis.draw(found, folder)
    if json:
        emit(found.as_json())
        return
    table = Table("delay, ms", "loss, %", "ratings", "mean opinion score", "± 95 %", box=None, pad_edge=False)
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
