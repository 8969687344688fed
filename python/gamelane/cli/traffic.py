"""Options of `gamelane traffic` and its subcommands."""

from __future__ import annotations

from typing import Any

import click

from gamelane import programs
from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out
from gamelane.cli.handover import Handover


@click.group()
def traffic() -> None:
    """Fit a game model to captures, generate its packets, or send them over real sockets."""


@traffic.command()
@click.argument(
    "captures",
    metavar="CAPTURE",
    type=options.PATH,
    nargs=-1,
    required=True,
    help="Capture in pcap or pcapng format of one match each.",
)
@options.output("Write the model to this file, NAME.toml.", metavar="FILE", required=True)
@click.option(
    "--players",
    metavar="N,…",
    multiple=True,
    show_default="the clients that a capture shows",
    help="Players of each match, in the order of the captures, for example 2,3,4.",
)
@click.option("--title", show_default="the file's name", help="Full name of the game.")
@click.option("--report", type=options.PATH, metavar="DIR", help="Write plots to this folder: fit.html and figures/.")
@options.json
@options.quiet
def fit(**given: object) -> object:
    """Fit a game model to captures of matches.

    Keeps packet sizes and times only, no addresses and no payload.
    """
    return carry_out("traffic", "fit", given)


@traffic.command()
@click.argument(
    "model", shell_complete=completing.models_or_files, help="Shipped model (`gamelane models`), or a file NAME.toml."
)
@options.output("Write the packets to this pcapng file.", metavar="FILE", required=True)
@click.option("--players", type=int, metavar="N", show_default="the model's", help="Number of players in the match.")
@click.option("--duration", metavar="TIME", default="60s", help="Length of the match.")
@click.option("--seed", type=click.IntRange(0), metavar="N", default=1, help="Seed of the random numbers.")
@options.json
@options.quiet
def generate(**given: object) -> object:
    """Generate the packets of one client of a match.

    Writes both directions, as a simulation sends them.
    """
    return carry_out("traffic", "generate", given)


def _sender(role: str) -> dict[str, Any]:
    """Return what completes the words of `serve` and `send`."""
    names = [completing.scenarios, completing.models]
    return {"program": programs.TRAFFIC, "words": lambda words: [role, *words], "first": names, "keys": True}


@traffic.command(
    cls=Handover, **_sender("serve"), short_help="Act as the server of a game or scenario on real UDP sockets."
)
@click.pass_context
def serve(context: click.Context) -> None:
    """Become `gamelane-traffic serve NAME [--listen ADDRESS:PORT]` (docs/traffic.md)."""
    carry_out("sending", "become", {"words": ["serve", *context.args]})


@traffic.command(cls=Handover, **_sender("send"), short_help="Act as a client of `serve` on real UDP sockets.")
@click.pass_context
def send(context: click.Context) -> None:
    """Become `gamelane-traffic send NAME [--to HOST:PORT] [-o FILE]` (docs/traffic.md)."""
    carry_out("sending", "become", {"words": ["send", *context.args]})


@traffic.command()
@click.argument("scenario", shell_complete=completing.scenarios, help="The game or scenario that was sent.")
@click.argument("client", type=options.PATH, help="File written by `send -o`.")
@options.output("Write report and records to this folder, as `gamelane run` does.", required=True)
@click.argument(
    "server",
    type=options.PATH,
    required=False,
    help="File written by `serve -o`. With it, one-way delays are shown if both ran on one host.",
)
@click.option(
    "--seed",
    type=options.SEED,
    metavar="N",
    show_default="the scenario's",
    help="The seed that `send --seed` was given.",
)
@options.json
def join(**given: object) -> object:
    """Report what `serve` and `send` recorded."""
    return carry_out("sending", "join", given)
