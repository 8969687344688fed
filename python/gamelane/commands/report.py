"""`gamelane report`: renders table and page again from records; compares several folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gamelane import whole
from gamelane.advise import measured
from gamelane.advise.measured import Measured
from gamelane.errors import UsageError, did_you_mean
from gamelane.records.overlaid import overlay
from gamelane.records.results import ALONE, Results
from gamelane.records.store import read
from gamelane.report import flent, measure, sweep
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.report.write import write_report
from gamelane.sweep import records as sweeps
from gamelane.terminal.talk import emit, printing, say, say_where, stdout, writable

FORMATS = ("csv", "flent")


def report(
    folders: Sequence[Path],
    out: Path | None,
    allow_differences: bool,
    export: Sequence[str],
    json: bool,
    quiet: bool,
) -> None:
    """Render a report again from records."""
    for name in export:
        if name not in FORMATS:
            allowed = f"{', '.join(FORMATS)}; PNG, SVG and Parquet are always written"
            raise UsageError(f"--export {name}: unknown format\n  allowed: {allowed}{did_you_mean(name, FORMATS)}")
    if len(folders) > 1:
        page, exported = _of_several(folders, out, export, json=json, allow_differences=allow_differences)
    elif sweeps.is_sweep(folders[0]):
        page, exported = _of_sweep(folders[0], out, export, json=json)
    else:
        page, exported = _of_runs(read(folders[0]), out or folders[0], export, json=json, of_line=_measured(folders[0]))
    for path in exported if not quiet else ():
        say(f"written: {path}")
    say_where(page, "" if json else "-o DIR adds a report with plots", quiet=quiet)


def _measured(folder: Path) -> Measured | None:
    """Return the measurement of a line, if the folder has one beside its records."""
    return measured.read(folder) if (folder / measured.FILE).exists() else None


def _of_several(
    folders: Sequence[Path], out: Path | None, formats: Sequence[str], *, json: bool, allow_differences: bool
) -> tuple[Path | None, list[Path]]:
    for folder in filter(sweeps.is_sweep, folders):
        raise UsageError(
            f"{folder}: holds a sweep, which cannot be compared with other results\n"
            f"  allowed: one sweep, as in `gamelane report {folder}`, or several folders of `gamelane run -o`"
        )
    if formats and out is None:
        raise UsageError("--export with several folders needs an output folder\n  hint:    add -o DIR")
    return _of_runs(overlay(folders, allow_differences=allow_differences), out, formats, json=json)


def _of_runs(
    results: Results, place: Path | None, formats: Sequence[str], *, json: bool, of_line: Measured | None = None
) -> tuple[Path | None, list[Path]]:
    with printing():
        if json:
            emit(document(results))
        else:
            if of_line is not None:
                measure.show(of_line, stdout())
                stdout().print("\nAll phases together:")
            show(results, stdout())
    if place is None:
        return None, []
    return write_report(results, writable(place), of_line), _export(results, formats, place)


def _of_sweep(folder: Path, out: Path | None, formats: Sequence[str], *, json: bool) -> tuple[Path, list[Path]]:
    found = sweeps.read(folder)
    place = writable(out or folder)
    with printing():
        if json:
            emit(sweep.document(found))
        else:
            sweep.show(found, stdout())
    return sweep.write_report(found, place), sweep.export(found, formats, place)


def _export(results: Results, formats: Sequence[str], folder: Path) -> list[Path]:
    written = []
    if "csv" in formats:
        for name, frame in results.frames.items():
            with whole.file(folder / f"{name}.csv") as partial:
                frame.write_csv(partial)
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
