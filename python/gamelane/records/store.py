"""Records on disk: one Parquet file per table, and `manifest.json`, which describes them (docs/records.md).

The same scenario, seeds and versions give the same bytes, except for host and CPU time in the manifest.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from gamelane import whole
from gamelane.errors import RecordsError
from gamelane.records import manifest as documents
from gamelane.records import tap
from gamelane.records.frames import TABLES
from gamelane.records.results import Flow, Results, RunRecord, Source, Variant

Made = TypeVar("Made", Flow, RunRecord, Source, Variant)
SCHEMA = 1
MANIFEST = "manifest.json"
REPORT = (
    "report.html",
    "figures/*.png",
    "figures/*.svg",
    "measure.json",
    "advice/advice.json",
    "compare/report.html",
)
"""What is made of the records. It must not stay beside newer ones."""


def write(results: Results, folder: str | PathLike[str]) -> None:
    """Write the tables and the manifest, all or none. The manifest appears last: a folder that has one is complete."""
    with whole.Together(Path(folder), MANIFEST, stale=REPORT) as files:
        for name, frame in results.frames.items():
            with files.file(f"{name}.parquet") as partial:
                frame.write_parquet(partial, compression="zstd", statistics=True)
        described = whole.document(manifest(results) | {"files": files.listed()})
        with files.file(MANIFEST) as partial:
            partial.write_text(described, encoding="utf-8")


def forget_report(folder: Path) -> None:
    """Remove the report of earlier records."""
    with whole.writing(folder):
        for file in (found for pattern in REPORT for found in folder.glob(pattern)):
            file.unlink()


def read(folder: str | PathLike[str]) -> Results:
    """Read records that `write` wrote, or make them from a gateway's recording."""
    path = Path(folder)
    if (path / tap.ABOUT).is_file() and not (path / MANIFEST).exists():
        return tap.read(path)
    document = documents.read(path / MANIFEST, schema=SCHEMA, holds="records", command="gamelane run SCENARIO")
    try:
        frames = {name: pl.read_parquet(path / f"{name}.parquet") for name in TABLES if name in document["tables"]}
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RecordsError(f"{path}: a table of the records is missing or damaged: {error}") from error
    if "rates" not in frames:  # The records are older than this table.
        rates = [pl.lit(None, dtype=pl.UInt64).alias(name) for name in ("shaped_bps", "link_bps")]
        frames["rates"] = frames["queues"].clear().select("variant", "seed", "t_s", "direction", *rates)
    return Results(
        name=document["scenario"]["name"],
        question=document["scenario"]["question"],
        file=document["scenario"]["file"],
        hash=document["scenario"]["hash"],
        duration_s=document["scenario"]["duration_s"],
        warmup_s=document["scenario"]["warmup_s"],
        engine=document["engine"],
        variants=tuple(_variant(entry) for entry in document["variants"]),
        planned_runs=document["planned_runs"],
        frames=frames,
        host=document["host"],
        command=tuple(document["command"]),
        gamelane=document["gamelane"],
        sources=tuple(
            _made(Source, source | {"command": tuple(source["command"])}) for source in document.get("sources", ())
        ),
        differences=tuple(document.get("differences", ())),
    )


def manifest(results: Results) -> dict[str, Any]:
    """Return the content of `manifest.json`."""
    document = {
        "schema": SCHEMA,
        "gamelane": results.gamelane,
        "engine": results.engine,
        "scenario": {
            "name": results.name,
            "question": results.question,
            "file": results.file,
            "hash": results.hash,
            "duration_s": results.duration_s,
            "warmup_s": results.warmup_s,
        },
        "command": list(results.command),
        "planned_runs": results.planned_runs,
        "finished_runs": results.finished_runs,
        "variants": [_described(variant) for variant in results.variants],
        "caveats": list(results.caveats),
        "tables": list(TABLES),
        "host": dict(results.host),
    }
    if not results.sources:
        return document
    return document | {
        "sources": [asdict(source) for source in results.sources],
        "differences": list(results.differences),
    }


def _described(variant: Variant) -> dict[str, Any]:
    """Describe a variant; keys about its source appear only if results are overlaid."""
    entry = asdict(variant)
    return entry if variant.source else {key: entry[key] for key in entry if key not in ("source", "own_name")}


def _variant(entry: dict[str, Any]) -> Variant:
    flows = tuple(_made(Flow, flow | {"caveats": tuple(flow["caveats"])}) for flow in entry["flows"])
    runs = tuple(_made(RunRecord, run) for run in entry["runs"])
    return _made(Variant, entry | {"flows": flows, "runs": runs, "caveats": tuple(entry.get("caveats", ()))})


def _made(of: type[Made], entry: dict[str, Any]) -> Made:
    """Make a dataclass of an entry. A later version may have added keys."""
    known = {field.name for field in fields(of)}
    return of(**{key: value for key, value in entry.items() if key in known})
