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
@click.option(
    "--build-kernel",
    is_flag=True,
    help="Instead: build the kernel for `run --vm` into the cache, from Debian's source package. 153 MB of download, "
    "2 GB of disk while it builds, 7 minutes of a CPU. Needs no root. An interrupted build continues.",
)
@click.option(
    "--fetch-kernel",
    is_flag=True,
    help="Instead: download Debian's kernel for QEMU, the other kind of guest for `run --vm`, and unpack it into the "
    "cache. 34 MB of download, 14 MB of disk, 10 seconds. Needs no root, and installs nothing.",
)
def doctor(**given: object) -> object:
    """Check what works on this machine, and how to get what is missing.

    Changes nothing, except with --build-kernel and --fetch-kernel.
    """
    return carry_out("doctor", "doctor", given)
