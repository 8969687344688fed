"""Options of `gamelane replay`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@click.argument(
    "capture", shell_complete=completing.captures, help="Capture in pcap or pcapng format with games over TCP."
)
@click.option("--rtt", metavar="TIME", default="0ms", help="Base RTT of the path.")
@click.option("--loss", metavar="SHARE", default="0%", help="Packets lost in each direction, for example 2%.")
@click.option(
    "--jitter", metavar="TIME", default="0ms", help="Extra delay in each direction, uniform between 0 and this time."
)
@click.option("--down", metavar="RATE", default="100mbit", help="Rate of the link towards the players.")
@click.option("--up", metavar="RATE", default="100mbit", help="Rate of the link from the players.")
@options.settings
@options.compare("flow.replay.carriage=direct,mux")
@options.variant
@click.option(
    "--other-end",
    metavar="CAPTURE",
    shell_complete=completing.captures,
    help="Capture of the same traffic at the other end. Shows the lag that was measured beside the replay.",
)
@options.repeat(1)
@options.threads
@options.json
@options.output("Write records and report.html to this folder.")
@options.quiet
def replay(**given: object) -> object:
    """Repeat what the games of a capture wrote over TCP, over another TCP, link or gateway."""
    return carry_out("replay", "replay", given)
