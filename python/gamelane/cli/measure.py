"""Options of `gamelane serve` and `gamelane measure`."""

from __future__ import annotations

import click

from gamelane import programs
from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out
from gamelane.cli.handover import Handover


def _listening(words: list[str]) -> list[str]:
    return ["listen", *words]


@click.command(
    cls=Handover,
    program=programs.TRAFFIC,
    words=_listening,
    short_help="Let other hosts measure their line to this one.",
)
@click.pass_context
def serve(context: click.Context) -> None:
    """Become `gamelane-traffic listen [--listen ADDRESS:PORT] [--key FILE]` (docs/measure.md)."""
    programs.TRAFFIC.become(_listening(context.args))


@click.command()
@click.argument("host", required=False, help="Host that runs `gamelane serve`: HOST or HOST:PORT.")
@click.option("--key", type=options.PATH, metavar="FILE", help="File with the secret that both ends share.")
@click.option(
    "--duration",
    metavar="TIME",
    show_default="30s",
    help="Length, 8 s to 10 min. Each of four phases has a quarter.",
)
@click.option(
    "--streams", type=click.IntRange(1, 32), metavar="N", show_default="4", help="TCP streams in each direction."
)
@click.option(
    "--congestion", metavar="NAME", show_default="each host's own", help="TCP congestion control of the loads."
)
@click.option("--seed", type=options.SEED, metavar="N", show_default="1", help="Seed of the games and calls.")
@click.option(
    "--plan",
    "sold",
    metavar="NAME",
    shell_complete=completing.presets("plan"),
    help="Access plan that you pay for, such as cable-250-20: its rates stand beside the measured ones.",
)
@click.option(
    "--compare",
    type=options.PATH,
    metavar="DIR",
    help="Show the line beside an earlier measurement, and beside its advice. It is loaded as it was then.",
)
@click.option(
    "--import",
    "imported",
    type=options.PATH,
    metavar="FILE",
    multiple=True,
    help="Instead of measuring, read a file of irtt, iperf3, netperf or flent. Repeatable, for one measurement.",
)
@click.option(
    "--by",
    metavar="PROGRAMS",
    shell_complete=completing.meters,
    help="Measure with `irtt`, `iperf3` or `irtt,iperf3`, whose servers run on HOST. `iperf3:5300` names a port.",
)
@options.output("Write report and records to this folder, as `gamelane run` does.")
@options.json
@options.quiet
def measure(**given: object) -> object:
    """Measure the line to a host, idle and loaded.

    Games and calls run beside TCP loads: none, up, down, then both ways.
    """
    return carry_out("measure", "measure", given)
