"""Records on disk: reading returns what was written, and the same scenario and seed give the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import gamelane
from gamelane import Experiment, RecordsError, Results


def test_what_was_written_comes_back(queues: Results, tmp_path: Path) -> None:
    queues.write(tmp_path)
    again = gamelane.read(tmp_path)
    for name, frame in queues.frames.items():
        assert_frame_equal(frame, again.frames[name])
    assert again.variants == queues.variants
    assert again == Results(**{**vars(queues), "frames": again.frames})


def test_any_reader_of_parquet_sees_names(alone: Results, tmp_path: Path) -> None:
    alone.write(tmp_path)
    rtt = pl.read_parquet(tmp_path / "rtt.parquet").with_columns(pl.col("flow").cast(pl.String))
    assert rtt["flow"][0] == "quake3"


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(short: Experiment, tmp_path: Path) -> None:
    variants = {name: {"gateway.*.queue": name} for name in ("pie", "fq_codel")}
    for folder, threads in (("one", 1), ("two", 2), ("again", 2)):
        gamelane.compare(short, variants, seeds=3, threads=threads).write(tmp_path / folder)
    first = _contents(tmp_path / "one")
    assert first == _contents(tmp_path / "two") == _contents(tmp_path / "again")


def test_another_seed_gives_other_numbers(short: Experiment) -> None:
    runs = short.with_(duration="3s").run(seeds=[1, 2])
    one, two = (runs.rtt.filter(pl.col("seed") == seed)["rtt_ms"].to_list() for seed in (1, 2))
    assert one != two


def test_records_of_before_there_were_rates_are_read(alone: Results, tmp_path: Path) -> None:
    alone.write(tmp_path)
    (tmp_path / "rates.parquet").unlink()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["tables"].remove("rates")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert_frame_equal(gamelane.read(tmp_path).rates, alone.rates)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "does not hold records"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text('{"schema": 99}'), "schema 99"),
        (lambda folder: (folder / "rtt.parquet").write_bytes(b"PAR1"), "missing or damaged"),
        (lambda folder: (folder / "tcp.parquet").unlink(), "missing or damaged"),
    ],
)
def test_spoilt_records_say_what_is_wrong(alone: Results, tmp_path: Path, spoil: object, complaint: str) -> None:
    alone.write(tmp_path)
    assert callable(spoil)
    spoil(tmp_path)
    with pytest.raises(RecordsError, match=complaint):
        gamelane.read(tmp_path)


def _contents(folder: Path) -> dict[str, object]:
    """Return the bytes of every file, without host and CPU time in the manifest."""
    found: dict[str, object] = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["host"]
    for variant in manifest["variants"]:
        for run in variant["runs"]:
            del run["cpu_seconds"]
    return found | {"manifest": json.dumps(manifest)}
