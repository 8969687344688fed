"""Options of `gamelane sweep`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@click.argument(
    "file_or_name",
    metavar="SWEEP",
    shell_complete=completing.sweeps,
    help="Sweep file, or the name of a shipped sweep.",
)
@options.output("Keep the runs in this folder. Runs that it already holds are not repeated.", required=True)
@options.threads
@click.option("--ray", metavar="auto|ADDRESS", help="Run on a Ray cluster. `local` starts a cluster on this machine.")
@click.option(
    "--merge",
    type=options.PATH,
    metavar="DIR",
    multiple=True,
    help="Copy finished runs from another folder of the same sweep. Repeatable.",
)
@click.option(
    "--part",
    metavar="K/N",
    default="1/1",
    help="Run only part K of N equal parts, for example on one of N machines. --merge combines the parts.",
)
@click.option(
    "--detail",
    metavar="KEY=VALUE,…",
    multiple=True,
    help="Keep the time series of the combinations with these values, for the report. Repeatable.",
)
@click.option("--report/--no-report", default=True, help="Write report.html and figures/.")
@click.option("--json", is_flag=True, help="Print one line of JSON per second (docs/json-schema.md).")
@options.quiet
def sweep(**given: object) -> object:
    """Run every combination of a sweep file.

    If the sweep is stopped or killed, the same command continues it.
    """
    return carry_out("sweep", "sweep", given)
