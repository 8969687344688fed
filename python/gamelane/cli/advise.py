"""Options of `gamelane advise`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options, recommending
from gamelane.cli.doing import carry_out


@click.command()
@click.argument("folder", type=options.PATH, metavar="DIR", help="Folder that `gamelane measure -o DIR` wrote.")
@click.option(
    "--with",
    "household_of",
    metavar="WHO",
    show_default="the game, the call and the transfers of the measurement",
    shell_complete=completing.scenarios_or_apps,
    help="Who uses the line: a scenario, a household, or games and applications such as valorant,netflix-4k.",
)
@recommending.target
@recommending.cost
@click.option("--trials", type=click.IntRange(1), metavar="N", default=16, help="Number of settings to try.")
@options.repeat(3, "Number of runs of each setting; seeds count up.")
@options.threads
@options.json
@options.quiet
def advise(**given: object) -> object:
    """Recommend a queue and rates for a measured line, and say what to expect.

    Writes DIR/advice: the line as a scenario, the advice as JSON, and a page.
    """
    return carry_out("advise", "advise", given)
