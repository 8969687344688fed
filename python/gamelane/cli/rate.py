"""Options of `gamelane rate`."""

from __future__ import annotations

import click

from gamelane.cli import options
from gamelane.cli.doing import carry_out

LARGEST = 65_507
"""Bytes a UDP datagram may carry over IPv4."""


@click.command()
@options.household
@options.settings
@click.option("--direction", type=click.Choice(["up", "down"]), default="up", help="Direction of the link to test.")
@click.option(
    "--size", type=click.IntRange(1, LARGEST), metavar="BYTES", default=1470, help="UDP payload of each packet, bytes."
)
@click.option(
    "--length",
    type=click.FloatRange(1, 3600),
    metavar="S",
    default=30.0,
    help="Length of a trial, seconds; shorter above 200,000 packets.",
)
@click.option("--lowest", type=click.IntRange(1), metavar="KBIT", default=64, help="Rate of the first trial, kbit/s.")
@click.option(
    "--highest", type=click.IntRange(1), metavar="KBIT", default=1_000_000, help="Highest rate tried, kbit/s."
)
@click.option(
    "--resolution",
    type=click.IntRange(1, 500),
    metavar="N",
    default=10,
    help="Stop when the rates with and without a queue differ by less than this, in thousandths.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", default=1, help="Seed of the first trial.")
@options.json
def rate(**given: object) -> object:
    """Find the rate to shape a link to.

    Sends trials of rising rate over the scenario's link, without its flows, until a queue builds up.
    """
    return carry_out("rate", "rate", given)
