"""Options of `gamelane remedies`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@click.argument(
    "scenario",
    default="thin-remedies",
    shell_complete=completing.scenarios,
    help='Scenario with a game over TCP (app = "mmo").',
)
@click.option("--loss", metavar="P,P,…", default="0.5,1,2,5", help="Loss rates of the link in each direction, percent.")
@click.option(
    "--burst",
    type=click.FloatRange(1),
    metavar="N",
    default=5.0,
    help="Mean number of packets lost in a burst, for the runs with burst loss.",
)
@options.repeat(3, "Number of runs of each remedy and loss rate; seeds count up.")
@options.threads
@options.json
@options.output("Write remedies.json, report.html and figures/ to this folder.")
@options.quiet
def remedies(**given: object) -> object:
    """Rank remedies for a game over TCP by message delay, with their cost in packets and bytes."""
    return carry_out("remedies", "remedies", given)
