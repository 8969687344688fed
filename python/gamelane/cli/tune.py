"""Options of `gamelane tune`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options, recommending
from gamelane.cli.doing import carry_out


@click.command()
@options.household
@options.settings
@click.option(
    "--search",
    "searches",
    metavar="KEY=VALUES",
    multiple=True,
    shell_complete=completing.settings,
    help="Vary a key over A,B,… or LOW..HIGH. Replaces the values of a key that is varied anyway. Repeatable.",
)
@click.option("--keep", metavar="KEY", multiple=True, help="Do not vary this key. Repeatable.")
@click.option(
    "--goal",
    metavar="GOAL",
    multiple=True,
    show_default="lowest delay of games and calls, then lowest cost to others",
    help="Goal such as 'min p99(game.rtt)' or 'max upload.goodput'. The first goal decides. Repeatable.",
)
@click.option(
    "--bound",
    metavar="BOUND",
    multiple=True,
    show_default="what games, calls, video and transfers need",
    help="Limit that a setting must meet, such as 'upload.goodput >= 0.8mbit'. Repeatable.",
)
@recommending.cost
@click.option("--trials", type=click.IntRange(1), metavar="N", default=64, help="Number of settings to try.")
@options.repeat(3, "Number of runs of each setting; seeds count up.")
@recommending.target
@click.option("--sampler-seed", type=click.IntRange(0, 2**32 - 1), metavar="N", default=1, help="Seed of the search.")
@options.threads
@options.json
@options.output("Write tune.json, report.html and figures/ to this folder.")
@options.quiet
def tune(**given: object) -> object:
    """Search queue, limit and other gateway settings that are best for the game.

    Recommends one setting and prints the lines that put it into effect.
    """
    return carry_out("tune", "tune", given)
