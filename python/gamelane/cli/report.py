"""`gamelane report`: table and page again, from records alone; of several folders, over one another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.errors import UsageError, did_you_mean
from gamelane.records import overlay, read
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
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Written by `gamelane run -o DIR` or `gamelane sweep -o DIR`. Several of one scenario, such as by two "
            "engines, are laid over one another; others are compared with the first.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write the page there.",
            show_default="beside the records; of several folders, none is written",
        ),
    ] = None,
    allow_differences: Annotated[
        bool,
        typer.Option("--allow-differences", help="Overlay folders whose scenarios differ, and say in what."),
    ] = False,
    export: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT", help="Also write csv or flent (.flent.gz). Repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Render the report again from records; of several folders, one over another, and whether they agree."""
    for name in export or []:
        if name not in FORMATS:
            allowed = f"{', '.join(FORMATS)}; PNG, SVG and Parquet are there anyway"
            raise UsageError(f"--export {name}: no such format\n  allowed: {allowed}{did_you_mean(name, FORMATS)}")
    if len(folders) > 1:
        page, exported = _of_several(folders, out, export or [], json=json, allow_differences=allow_differences)
    elif sweeps.is_sweep(folders[0]):
        page, exported = _of_sweep(folders[0], out, export or [], json=json)
    else:
        page, exported = _of_runs(read(folders[0]), out or folders[0], export or [], json=json)
    if quiet:
        return
    for path in exported:
        say(f"written: {path}")
    if page is not None:
        say(f"report: {page}")
    elif not json:
        say("-o DIR adds a report with plots")


def _of_several(
    folders: list[Path], out: Path | None, formats: list[str], *, json: bool, allow_differences: bool
) -> tuple[Path | None, list[Path]]:
    for folder in filter(sweeps.is_sweep, folders):
        raise UsageError(
            f"{folder}: holds a sweep, which cannot be laid over other results\n"
            f"  allowed: one sweep alone, as in `gamelane report {folder}`, or several folders of `gamelane run -o`"
        )
    if formats and out is None:
        raise UsageError("--export needs a folder to write to, of several\n  hint:    add -o DIR")
    return _of_runs(overlay(folders, allow_differences=allow_differences), out, formats, json=json)


def _of_runs(results: Results, place: Path | None, formats: list[str], *, json: bool) -> tuple[Path | None, list[Path]]:
    page, exported = None, []
    if place is not None:
        page = write_report(results, writable(place))
        exported = _export(results, formats, place)
    if json:
        emit(document(results))
    else:
        show(results, stdout())
    return page, exported


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
                series = flent.of_run(results, variant.name, run.seed)
                flent.write(path, title, series, duration_s=results.duration_s, engine=results.engine_of(variant))
                written.append(path)
    return written
