"""`gamelane capture`: hands over to `gamelane-capture`."""

from __future__ import annotations

import sys

import click

from gamelane import programs
from gamelane.cli.handover import Handover
from gamelane.errors import LabError


@click.command(cls=Handover, program=programs.CAPTURE)
@click.pass_context
def capture(context: click.Context) -> None:
    """Become `gamelane-capture` (docs/capture.md)."""
    if sys.platform != "linux":
        raise LabError(
            "capture: interfaces can be recorded on Linux only\n"
            "  hint:    record with `tcpdump -i IFACE -s 128 -w game.pcap` and give game.pcap to `gamelane analyze`"
        )
    programs.CAPTURE.become(context.args)
