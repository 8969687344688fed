"""Options of `gamelane run`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@options.household
@options.settings
@options.compare("gateway.*.queue=fifo,pie,fq_codel")
@options.variant
@options.repeat(1, "Number of runs of each variant; seeds count up. Confidence intervals need at least 2.")
@click.option("--seed", type=options.SEED, metavar="N", show_default="the scenario's", help="Seed of the first run.")
@options.threads
@click.option(
    "--engine",
    metavar="ENGINE",
    shell_complete=completing.engines,
    default="sim",
    help="sim simulates. lab runs real hosts in network namespaces, in real time (docs/lab.md). kernel is the lab with "
    "the kernel's own shaper and queues as gateway (docs/kernel-engine.md). sim,kernel runs both and compares them in "
    "one report. `gamelane doctor` shows what each needs.",
)
@click.option(
    "--vm",
    is_flag=True,
    help="Run lab and kernel in guests with a kernel of their own, in virtual time. Needs no root; other load of the "
    "machine does not matter. --threads guests run side by side. Needs `gamelane doctor --build-kernel` once, or "
    "--fetch-kernel and QEMU, which is slower.",
)
@click.option(
    "--show", is_flag=True, help="Print the scenario as a file, with presets and settings put in; run nothing."
)
@click.option(
    "--write", metavar="FILE", type=options.PATH, help="Write the scenario to this file, to keep and edit, and run it."
)
@options.json
@options.output("Write records, report.html and figures/ to this folder.")
@click.option(
    "--pcap", is_flag=True, help="With -o: write pcapng captures of both sides of the gateway and of the servers."
)
@options.quiet
def run(**given: object) -> object:
    """Run a scenario and print a table of delay, loss and throughput.

    With -o, also write an HTML report, figures and records.
    """
    return carry_out("run", "run", given)
