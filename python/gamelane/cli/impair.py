"""`gamelane impair`: hands over to `gamelane-impair`; options of the blind trials of what a player notices."""

from __future__ import annotations

import click

from gamelane import programs
from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out
from gamelane.cli.handover import Handover

WORDS = ("run", "set", "show", "profiles", "check", "tune")
trials = click.Group("impair", help="Blind trials of delay and loss.")


def _with_run(words: list[str]) -> list[str]:
    """Add `run`, which may be left out before an interface."""
    return words if not words or words[0] in WORDS or words[0].startswith("-") else ["run", *words]


@click.command(cls=Handover, program=programs.IMPAIR, words=_with_run, first=[completing.interfaces])
@click.pass_context
def impair(context: click.Context) -> object:
    """Become `gamelane-impair` (docs/impair.md), except for `trial` and `analyze`, which run here."""
    words = context.args
    if words and words[0] in trials.commands:
        return trials.main(words, "gamelane impair", standalone_mode=False)
    return programs.IMPAIR.become(_with_run(words))


impair.commands = trials.commands


@trials.command()
@click.argument("interface", metavar="IF", shell_complete=completing.interfaces, help="Interface to impair.")
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
def trial(**given: object) -> None:
    """Play under the delays and losses of collom2016, Table II, in random order, and rate each without knowing it.

    Starts `gamelane impair IF`, unless it runs.
    """
    carry_out("trials", "trial", given)


@trials.command()
@click.argument("folder", metavar="DIR", type=options.PATH, help="Folder written by `trial -o`.")
@click.option("--json", is_flag=True, help="Print JSON (docs/impair.md).")
def analyze(**given: object) -> None:
    """Print mean opinion scores with intervals and the sensitivity to delay and loss; draw them."""
    carry_out("trials", "analyze", given)
