"""Options of `gamelane capture`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out

LARGEST_SNAPLEN = 262_144
SMALLEST_SNAPLEN = 64


@click.command()
@click.argument(
    "interface",
    metavar="IFACE",
    shell_complete=completing.interfaces_or_any,
    help="Network interface, or `any` for all interfaces.",
)
@options.output("Write the packets to this folder. Without -o they are analyzed but not stored.")
@click.option(
    "--filter", "filter_", metavar="EXPR", default="", help="Record only packets that match this tcpdump expression."
)
@click.option(
    "--snaplen",
    type=click.IntRange(SMALLEST_SNAPLEN, LARGEST_SNAPLEN),
    metavar="BYTES",
    default=LARGEST_SNAPLEN,
    help="Bytes stored of each packet. 128 keeps all headers and almost no payload.",
)
@click.option("--rotate-size", metavar="SIZE", help="Start a new file before one exceeds this size: 100MiB.")
@click.option("--rotate-time", metavar="TIME", help="Start a new file when one spans this time: 10min.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="Keep the N newest files of IFACE in the folder and delete older ones.",
)
@click.option(
    "--duration", metavar="TIME", help="Stop after this time, for example 10min. Without it Ctrl-C or SIGTERM stops."
)
@click.option("--packets", "-c", type=click.IntRange(1), metavar="N", help="Stop after about N packets.")
@click.option(
    "--promiscuous", is_flag=True, help="Also record packets for other machines, for example at a switch's mirror port."
)
@click.option(
    "--ring", metavar="SIZE", default="32MiB", help="Size of the kernel's buffer. A larger one survives longer bursts."
)
@click.option(
    "--live",
    "has_top",
    is_flag=True,
    help="Show the flows while recording, those that wait longest first. q quits, s sorts, p pauses.",
)
@options.json
@options.quiet
def capture(**given: object) -> object:
    """Record an interface until Ctrl-C or SIGTERM, then explain the lag and loss of the games on it."""
    return carry_out("capture", "capture", given)
