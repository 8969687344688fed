"""Options of `gamelane doctor`."""

from __future__ import annotations

import click

from gamelane.cli import options
from gamelane.cli.doing import carry_out


@click.command()
@options.json
@click.option(
    "--measure",
    is_flag=True,
    help="Also measure the accuracy of the emulation, in its own namespaces. Takes about 15 s, needs root.",
)
def doctor(**given: object) -> object:
    """Check what works on this machine, and how to get what is missing. Changes nothing."""
    return carry_out("doctor", "doctor", given)
