"""Options of `gamelane reproduce`."""

from __future__ import annotations

import click

from gamelane.claims import PAPERS
from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@click.argument(
    "paper",
    metavar="[PAPER|all]",
    default="all",
    shell_complete=completing.names(lambda: [*PAPERS, "all"]),
    help=f"Paper to check: {', '.join(PAPERS)} or all.",
)
@options.repeat(5)
@options.threads
@options.json
@options.output("Write claims.json and a page for each paper to this folder.")
@options.quiet
def reproduce(**given: object) -> object:
    """Check the claims of the papers.

    Results of the papers are simulated and compared. Other kinds of claims are counted beside them. Each claim has a
    verdict with the rule it was judged by, our value and the reason.
    """
    return carry_out("reproduce", "reproduce", given)
