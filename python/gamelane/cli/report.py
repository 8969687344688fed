"""`gamelane report`: table and page again, from records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.records import read
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.report.write import write_report


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Records written by `gamelane run -o DIR`.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the page there.", show_default="beside the records"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Render the report again from records, without running anything."""
    results = read(folder)
    page = write_report(results, writable(out or folder))
    if json:
        emit(document(results))
    else:
        show(results, stdout())
    if not quiet:
        say(f"report: {page}")
