"""`gamelane report`: table and page again, from records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.errors import UsageError, did_you_mean
from gamelane.records import read
from gamelane.records.results import ALONE, Results
from gamelane.report import flent, sweep
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.report.write import write_report
from gamelane.sweep import records as sweeps

FORMATS = ("csv", "flent")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Written by `gamelane run -o DIR` or `gamelane sweep -o DIR`.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the page there.", show_default="beside the records"),
    ] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT", help="Also write csv or flent (.flent.gz). Repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Render the report again from records, without running anything."""
    for name in export or []:
        if name not in FORMATS:
            allowed = f"{', '.join(FORMATS)}; PNG, SVG and Parquet are there anyway"
            raise UsageError(f"--export {name}: no such format\n  allowed: {allowed}{did_you_mean(name, FORMATS)}")
    if sweeps.is_sweep(folder):
        page, exported = _of_sweep(folder, out, export or [], json=json)
    else:
        results = read(folder)
        page = write_report(results, writable(out or folder))
        exported = _export(results, export or [], out or folder)
        if json:
            emit(document(results))
        else:
            show(results, stdout())
    if not quiet:
        for path in exported:
            say(f"written: {path}")
        say(f"report: {page}")


def _of_sweep(folder: Path, out: Path | None, formats: list[str], *, json: bool) -> tuple[Path, list[Path]]:
    found = sweeps.read(folder)
    place = writable(out or folder)
    page = sweep.write_report(found, place)
    exported = sweep.export(found, formats, place)
    if json:
        emit(sweep.document(found))
    else:
        sweep.show(found, stdout())
    return page, exported


def _export(results: Results, formats: list[str], folder: Path) -> list[Path]:
    written = []
    if "csv" in formats:
        for name, frame in results.frames.items():
            frame.write_csv(folder / f"{name}.csv")
            written.append(folder / f"{name}.csv")
    if "flent" in formats:
        for variant in results.variants:
            for run in variant.runs:
                name = f"seed{run.seed}" if variant.name == ALONE else f"{variant.name}-seed{run.seed}"
                path = folder / f"{name.replace('/', '_')}.flent.gz"
                title = f"{results.name}: {variant.name}, seed {run.seed}"
                flent.write(path, title, flent.of_run(results, variant.name, run.seed), duration_s=results.duration_s)
                written.append(path)
    return written
