"""Exports a sweep: CSV of runs and of cells, and `.flent.gz` of the runs with stored time series."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from gamelane import whole
from gamelane.report import flent
from gamelane.report.sweep.html import chosen_metrics
from gamelane.report.sweep.overview import described
from gamelane.sweep import folder as store
from gamelane.sweep.records import SweepRecords


def export(records: SweepRecords, formats: Sequence[str], out: Path) -> list[Path]:
    """Write `csv` and `flent` if requested; return the files."""
    written: list[Path] = []
    with whole.writing(out):
        if "csv" in formats:
            written += [_runs(records, out / "runs.csv"), _cells(records, out / "cells.csv")]
        if "flent" in formats:
            written += _flents(records, out / "flent")
    return written


def _runs(records: SweepRecords, path: Path) -> Path:
    with whole.file(path) as partial:
        records.source.sink_csv(partial)
    return path


def _cells(records: SweepRecords, path: Path) -> Path:
    """Write one row per combination: keys, runs, and mean and 95 % half-width of each metric of the report."""
    metrics = chosen_metrics(records)
    keys = records.document["keys"]
    with whole.file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*keys, "runs", *(f"{metric.name} {part}" for metric in metrics for part in ("mean", "ci95"))])
        for cell in records.cells:
            estimates = [cell.estimate(metric) for metric in metrics]
            numbers = [number for of in estimates for number in (of.mean, of.ci95)]
            rows.writerow([*cell.values.values(), len(cell.runs), *("" if n is None else n for n in numbers)])
    return path


def _flents(records: SweepRecords, folder: Path) -> list[Path]:
    """Write one file for each run with stored time series."""
    written = []
    for cell in records.cells:
        for seed in records.document["seeds"]:
            kept = records.folder / store.SERIES / f"{records.run_id(cell, seed)}.json"
            if not kept.is_file():
                continue
            folder.mkdir(parents=True, exist_ok=True)
            series = json.loads(kept.read_text(encoding="utf-8"))
            path = folder / f"{kept.stem[:12]}.flent.gz"
            title = f"{records.name}: {described(records, cell)}, seed {seed}"
            flent.write(path, title, flent.of_detail(series), duration_s=series["duration_s"])
            written.append(path)
    return written
