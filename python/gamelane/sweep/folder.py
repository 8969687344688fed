"""The folder of a sweep (docs/sweep.md).

`sweep.json` is the plan, `journal.jsonl` holds each finished run, and `runs.parquet` combines the two: one row per run,
in the order of the plan. Its bytes do not depend on how often the sweep was stopped.
"""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gamelane import _native, whole
from gamelane.analysis.flatten import flatten
from gamelane.errors import OutputError, RecordsError, UsageError
from gamelane.records import manifest as documents
from gamelane.sweep import journal
from gamelane.sweep.plan import Plan

SCHEMA = 1
MANIFEST = "sweep.json"
JOURNAL = "journal.jsonl"
RUNS = "runs.parquet"
SERIES = "series"
BLOCK = 500
ROW_GROUP = 2000


@dataclass(frozen=True)
class Kept:
    """What a folder holds of a plan: ids of finished runs, and the number of damaged lines.

    `rebuilt` is set if another build of this version made the runs; its results may differ.
    """

    ids: frozenset[str]
    damaged: int
    rebuilt: bool = False


def begin(folder: Path, plan: Plan) -> Kept:
    """Write the plan and return the finished runs. Refuses a folder with anything else."""
    before = _check(folder, plan)
    whole.replace(folder / MANIFEST, dumps(manifest(plan)))
    wanted = {run.id for run in plan.runs}
    kept = _kept(folder / JOURNAL, wanted)
    return Kept(kept.ids, kept.damaged, bool(kept.ids) and before not in (None, build()))


def merge(folder: Path, others: Iterable[Path], plan: Plan, kept: Kept) -> Kept:
    """Copy the runs of this plan from other folders."""
    wanted = {run.id for run in plan.runs}
    have = set(kept.ids)
    with journal.Journal(folder / JOURNAL) as own:
        for other in others:
            if not (other / JOURNAL).is_file():
                raise UsageError(
                    f"{other}: not the folder of a sweep: it has no {JOURNAL}\n"
                    f"  hint:    `gamelane sweep SWEEP -o {other}` makes one"
                )
            found = 0
            for done in journal.read(other / JOURNAL):
                if done is not None and done.id in wanted:
                    found += 1
                    if done.id not in have:
                        own.append(done)
                        have.add(done.id)
            if not found:
                raise UsageError(
                    f"{other}: none of its runs belongs to this sweep\n"
                    f"  given:   {_described(other)}\n"
                    f"  hint:    scenario, seed and version (gamelane {_native.version()}) must be the same"
                )
    return Kept(frozenset(have), kept.damaged, kept.rebuilt)


def finish(folder: Path) -> None:
    """Write `runs.parquet` from the finished runs; an unfinished sweep has fewer rows.

    Writes one block at a time through temporary files, so that memory use does not grow with the number of runs.
    """
    try:
        with (
            whole.file(folder / RUNS) as partial,
            tempfile.TemporaryDirectory(prefix=whole.PREFIX, dir=folder) as place,
        ):
            parts = []
            for number, block in enumerate(_blocks(folder, read_manifest(folder))):
                parts.append(Path(place) / f"{number}.arrow")
                block.write_ipc(parts[-1])
            every = pl.concat([pl.scan_ipc(part) for part in parts], how="diagonal_relaxed")
            every.sink_parquet(partial, compression="zstd", statistics=True, row_group_size=ROW_GROUP)
    except OutputError as error:
        raise OutputError(f"{error}\n  hint:    finished runs are kept") from error


def table(folder: Path, document: Mapping[str, Any]) -> pl.DataFrame:
    """Return one row per run: the keys of the axes, `seed`, and the flattened summary."""
    return pl.concat(_blocks(folder, document), how="diagonal_relaxed")


def _blocks(folder: Path, document: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield the table in the order of the plan, as at least one block, which may be empty."""
    offsets = _offsets(folder / JOURNAL)
    keys = document["keys"]
    wanted = [run for run in document["runs"] if run[0] in offsets]
    if not wanted:
        yield pl.DataFrame(schema={**dict.fromkeys(keys, pl.String), "seed": pl.Int64})
        return
    with (folder / JOURNAL).open("rb") as file:
        for start in range(0, len(wanted), BLOCK):
            rows = []
            for name, cell, seed in wanted[start : start + BLOCK]:
                file.seek(offsets[name])
                done = journal.decode(file.readline())
                if done is None:
                    raise RecordsError(f"{folder / JOURNAL}: changed while it was read")
                values = dict(zip(keys, document["cells"][cell], strict=True))
                rows.append({**values, "seed": seed, **flatten(done.summary)})
            yield pl.DataFrame(rows, infer_schema_length=None)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return `sweep.json`."""
    return documents.read(folder / MANIFEST, schema=SCHEMA, holds="a sweep", command="gamelane sweep SWEEP")


def manifest(plan: Plan) -> dict[str, Any]:
    """Return the content of `sweep.json`: all that a report needs besides the runs."""
    sweep = plan.sweep
    return {
        "schema": SCHEMA,
        "gamelane": _native.version(),
        "build": build(),
        "identity": plan.identity,
        "name": sweep.name,
        "question": sweep.question,
        "file": sweep.file,
        "text": sweep.source.text,
        "base": {
            "file": sweep.base_file,
            "name": sweep.base.name,
            "text": sweep.base_text,
            "duration_s": sweep.base.with_overrides(list(sweep.settings.items())).duration_s,
            "warmup_s": sweep.base.with_overrides(list(sweep.settings.items())).warmup_s,
        },
        "set": dict(sweep.settings),
        "axes": [{"keys": list(axis.keys), "values": [list(row) for row in axis.values]} for axis in sweep.grid.axes],
        "seeds": list(sweep.seeds),
        "budgets": [asdict(budget) for budget in sweep.budgets],
        "plots": [asdict(plot) for plot in sweep.plots],
        "flows": list(plan.flows),
        "caveats": list(plan.caveats),
        "keys": list(sweep.grid.keys),
        "cells": [list(cell.values.values()) for cell in plan.cells],
        "runs": [[run.id, run.cell, run.seed] for run in plan.runs],
    }


@functools.cache
def build() -> str:
    """Identify this build of the native module. During development the version stays the same."""
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:16]


def dumps(document: Any) -> str:
    """Return JSON with one line per key, so that long lists do not fill the screen."""
    lines = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in document.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _check(folder: Path, plan: Plan) -> str | None:
    """Refuse a folder of another sweep; return the build that started it."""
    if not (folder / MANIFEST).exists():
        others = [path.name for path in folder.iterdir()]
        if "manifest.json" in others or JOURNAL in others:
            raise UsageError(
                f"{folder}: this folder holds other results\n  given:   {', '.join(sorted(others)[:6])}\n"
                "  hint:    choose an empty folder with -o"
            )
        return None
    try:
        document = read_manifest(folder)
    except RecordsError as damaged:
        raise UsageError(
            f"{damaged}\n  hint:    choose another folder with -o, and copy the runs of this one with --merge"
        ) from None
    if document["gamelane"] != _native.version():
        raise UsageError(
            f"{folder}: its runs are from gamelane {document['gamelane']}, and this is {_native.version()}\n"
            "  hint:    versions may give different numbers; choose another folder with -o"
        )
    found: str | None = document.get("build")
    if document["identity"] != plan.identity:
        what = "another sweep" if found == build() else "another sweep, or this one from another build of gamelane"
        raise UsageError(
            f"{folder}: this folder holds {what}\n  given:   {_described(folder)}\n"
            f"  hint:    choose another folder with -o; `--merge {folder}` copies the runs that both have"
        )
    return found


def _described(folder: Path) -> str:
    try:
        document = read_manifest(folder)
    except RecordsError:
        return f"an unreadable {MANIFEST}"
    return f"{document['name']} ({document['file']}): {len(document['runs'])} runs over {', '.join(document['keys'])}"


def _kept(path: Path, wanted: set[str]) -> Kept:
    found = [journal.id_of(line) for _, line in journal.lines(path)]
    return Kept(frozenset(name for name in found if name is not None and name in wanted), found.count(None))


def _offsets(path: Path) -> dict[str, int]:
    """Return the position of each run in the journal, the first if a run is there twice."""
    offsets: dict[str, int] = {}
    for at, line in journal.lines(path):
        name = journal.id_of(line)
        if name is not None:
            offsets.setdefault(name, at)
    return offsets


def finished(document: Mapping[str, Any], rows: int) -> bool:
    """Return whether a folder has every planned run."""
    return rows == len(document["runs"])
