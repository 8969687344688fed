"""Options of `gamelane report`."""

from __future__ import annotations

import click

from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


@click.command()
@click.argument(
    "folders",
    metavar="DIR",
    type=options.PATH,
    nargs=-1,
    required=True,
    help="Folder of `gamelane run -o DIR`, `gamelane sweep -o DIR` or `gamelane gateway run --tap DIR`. "
    "Several folders of one scenario, for example of two engines, are overlaid. The others are compared with the "
    "first.",
)
@click.option(
    "--output",
    "-o",
    "out",
    metavar="DIR",
    type=options.PATH,
    show_default="beside the records; with several folders, none",
    help="Write the page to this folder.",
)
@click.option(
    "--allow-differences", is_flag=True, help="Overlay folders even if their scenarios differ, and show what differs."
)
@click.option(
    "--export",
    metavar="FORMAT",
    multiple=True,
    shell_complete=completing.formats,
    help="Also write csv or flent (.flent.gz). Repeatable.",
)
@options.json
@options.quiet
def report(**given: object) -> object:
    """Render a report again from records.

    With several folders, overlay their results and test whether they agree.
    """
    return carry_out("report", "report", given)
