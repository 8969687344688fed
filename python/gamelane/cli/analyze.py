"""Options of `gamelane analyze`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@click.argument(
    "captures",
    metavar="CAPTURE",
    nargs=-1,
    required=True,
    shell_complete=completing.captures,
    help="Capture in pcap or pcapng format, also compressed with gzip or zstd; a folder written by `gamelane capture`; "
    "or - for standard input. Two captures of the same traffic at two points are compared.",
)
@options.json
@options.output("Write report.html, analysis.json and tables to this folder.")
@click.option(
    "--interfaces",
    metavar="A,B",
    help="Compare two interfaces of one capture, for example both sides of a router. Numbers count from 0; "
    "in a capture of `any` (Linux cooked 2) they are those of `ip link`.",
)
@click.option(
    "--remedies",
    type=click.IntRange(1),
    metavar="N",
    help="Replay the writes of thin TCP connections N times with linear timeouts, modified RTO and bundling, over the "
    "measured RTT and loss. Shows the delay that each remedy would have saved.",
)
@click.option(
    "--shared-paths",
    is_flag=True,
    help="Test by RTT which TCP connections may share a path. Prints groups; -o adds a matrix.",
)
@click.option(
    "--filter",
    "words",
    metavar="EXPR",
    default="",
    show_default=False,
    help="Analyze only packets that match this tcpdump expression, for example 'udp and host 10.0.0.2'.",
)
@click.option(
    "--flow",
    "flows",
    type=click.IntRange(0),
    metavar="ID",
    multiple=True,
    help="Show only the flow with this number, with more detail. Repeatable.",
)
@click.option("--csv", is_flag=True, help="Print one line for each flow as CSV (docs/capture.md has the columns).")
@click.option("--log", is_flag=True, help="With --flow: print every packet of the flow, annotated.")
@options.quiet
def analyze(**given: object) -> object:
    """Explain lag, loss and retransmissions of the games in captures, with the cause of each."""
    return carry_out("analyze", "analyze", given)
