"""The folder of a sweep: resumed, merged, damaged, somebody else's, full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

from gamelane import _native
from gamelane.errors import OutputError, UsageError
from gamelane.sweep import execute, file, folder, journal, plan, records
from gamelane.sweep.executor import Executor
from gamelane.sweep.journal import Done
from gamelane.sweep.local import Local
from gamelane.sweep.plan import Plan
from gamelane.sweep.work import Base, Failed, Job
from gamelane.whole import claimed

from .conftest import SWEEP, Write


def _run(
    planned: Plan,
    out: Path,
    *,
    executor: Executor | None = None,
    merge: Sequence[Path] = (),
    part: execute.Part | None = None,
) -> execute.Progress:
    out.mkdir(exist_ok=True)
    with claimed(out):
        kept = folder.begin(out, planned)
        if merge:
            kept = folder.merge(out, merge, planned, kept)
        work = execute.todo(planned, part or execute.Part(), kept)
        progress = execute.execute(work, out, executor or Local(2), lambda _: None)
        folder.finish(out)
    return progress


@pytest.fixture
def planned(small: Path) -> Plan:
    return plan.make(file.read(small))


@pytest.fixture
def whole(planned: Plan, tmp_path: Path) -> bytes:
    """What an undisturbed run writes."""
    _run(planned, tmp_path / "whole")
    return (tmp_path / "whole" / "runs.parquet").read_bytes()


def test_one_row_a_run_axes_first_then_seed_then_the_summary(planned: Plan, tmp_path: Path) -> None:
    progress = _run(planned, tmp_path / "out")
    assert (progress.made, progress.kept, progress.failed) == (12, 0, [])
    frame = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert frame.columns[:3] == ["gateway.*.queue", "link.rtt", "seed"]
    assert frame["link.rtt"].to_list()[:4] == ["20ms", "20ms", "40ms", "40ms"]
    assert frame["seed"].to_list()[:4] == [7, 8, 7, 8]
    summary = json.loads(
        _native.run(planned.sweep.base.with_overrides([("link.rtt", "40ms")]), 8, samples=False).summary_json()
    )
    assert frame["flows.quake3.rtt_ms.p95"][3] == summary["flows"]["quake3"]["rtt_ms"]["p95"]
    assert frame["queues.up.drops.tail"][3] == summary["queues"]["up"]["drops"]["tail"]
    low, median, high = (frame[f"flows.quake3.rtt_box_ms.{part}"] for part in ("low", "median", "high"))
    assert (low <= median).all()
    assert (median <= high).all()
    assert median[3] == pytest.approx(summary["flows"]["quake3"]["rtt_ms"]["p50"], rel=0.02)


def test_a_second_time_nothing_is_made_and_the_bytes_are_the_same(planned: Plan, whole: bytes, tmp_path: Path) -> None:
    again = _run(planned, tmp_path / "whole")
    assert (again.made, again.kept) == (0, 12)
    assert (tmp_path / "whole" / "runs.parquet").read_bytes() == whole


def test_one_thread_gives_the_same_bytes(planned: Plan, whole: bytes, tmp_path: Path) -> None:
    _run(planned, tmp_path / "out", executor=Local(1))
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == whole


def test_parts_made_elsewhere_come_together(planned: Plan, whole: bytes, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        progress = _run(planned, tmp_path / f"part{number}", part=execute.Part(number, 3))
        assert progress.made == progress.total < 12
        assert len(pl.read_parquet(tmp_path / f"part{number}" / "runs.parquet")) == progress.made
    parts = [tmp_path / f"part{number}" for number in (1, 2, 3)]
    assert _run(planned, tmp_path / "out", merge=parts).made == 0
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == whole


def test_a_wider_sweep_takes_over_what_a_narrower_made(whole: bytes, write: Write, tmp_path: Path) -> None:
    assert whole
    wider = plan.make(file.read(write(SWEEP.replace('"80ms"', '"80ms", "160ms"'))))
    progress = _run(wider, tmp_path / "wider", merge=[tmp_path / "whole"])
    assert (progress.kept, progress.made) == (12, 4)


@pytest.mark.parametrize("at", [0.0, 0.3, 0.99])
def test_a_damaged_line_is_made_again(at: float, planned: Plan, whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "whole" / "journal.jsonl"
    text = bytearray(path.read_bytes())
    text[int(at * len(text))] ^= 0x04
    path.write_bytes(text)
    kept = folder.begin(tmp_path / "whole", planned)
    assert (len(kept.ids), kept.damaged) == (11, 1)
    assert _run(planned, tmp_path / "whole").made == 1
    assert (tmp_path / "whole" / "runs.parquet").read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"PAR1 or so"])
def test_a_damaged_table_is_made_again_from_the_journal(
    content: bytes, planned: Plan, whole: bytes, tmp_path: Path
) -> None:
    table = tmp_path / "whole" / "runs.parquet"
    table.write_bytes(content)
    assert len(records.read(tmp_path / "whole").frame) == 12
    assert _run(planned, tmp_path / "whole").made == 0
    assert table.read_bytes() == whole


def test_a_damaged_manifest_is_refused_and_its_runs_can_be_merged(planned: Plan, whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "whole" / "sweep.json").write_text('{"schema": 1, "run')
    with pytest.raises(UsageError, match="--merge"):
        _run(planned, tmp_path / "whole")
    assert _run(planned, tmp_path / "out", merge=[tmp_path / "whole"]).made == 0
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == whole


def test_the_folder_of_another_sweep_is_refused(planned: Plan, whole: bytes, write: Write, tmp_path: Path) -> None:
    other = plan.make(file.read(write(SWEEP.replace("80ms", "90ms"))))
    with pytest.raises(UsageError, match="holds another sweep") as refusal:
        _run(other, tmp_path / "whole")
    assert "--merge" in str(refusal.value)
    assert (tmp_path / "whole" / "runs.parquet").read_bytes() == whole
    assert planned.identity != other.identity


def test_the_folder_of_another_version_is_refused(planned: Plan, whole: bytes, tmp_path: Path) -> None:
    assert whole
    manifest = tmp_path / "whole" / "sweep.json"
    manifest.write_text(manifest.read_text().replace(f'"gamelane": "{_native.version()}"', '"gamelane": "0.0.1"'))
    with pytest.raises(UsageError, match=r"runs are from gamelane 0\.0\.1"):
        _run(planned, tmp_path / "whole")


def test_another_build_of_this_version_is_noticed(
    planned: Plan, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert whole
    assert not folder.begin(tmp_path / "whole", planned).rebuilt
    monkeypatch.setattr(folder, "build", lambda: "other")
    assert folder.begin(tmp_path / "whole", planned).rebuilt


def test_the_folder_of_a_single_run_is_refused(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="other results"):
        _run(planned, tmp_path / "out")


def test_merging_what_does_not_belong_is_refused(planned: Plan, whole: bytes, write: Write, tmp_path: Path) -> None:
    assert whole
    assert planned
    other = plan.make(file.read(write(SWEEP + '[set]\n"link.up" = "3mbit"\n')))
    with pytest.raises(UsageError, match="none of its runs"):
        _run(other, tmp_path / "other", merge=[tmp_path / "whole"])
    with pytest.raises(UsageError, match="not the folder of a sweep"):
        _run(other, tmp_path / "other", merge=[tmp_path])


def test_a_second_writer_is_kept_out(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with claimed(tmp_path / "out"), pytest.raises(UsageError, match="another gamelane"):
        _run(planned, tmp_path / "out")


class _Failing:
    """Makes every run but those of one seed."""

    def results(self, base: Base, jobs: Sequence[Job]) -> Iterator[Done | Failed | None]:
        local = Local(1)
        yield from local.results(base, [job for job in jobs if job.seed != 8])
        yield from (Failed(job.id, "on purpose") for job in jobs if job.seed == 8)

    def stop(self) -> None: ...

    def abort(self) -> None: ...

    def describe(self) -> str:
        return "failing"


def test_runs_that_fail_are_told_and_made_next_time(planned: Plan, whole: bytes, tmp_path: Path) -> None:
    progress = _run(planned, tmp_path / "out", executor=_Failing())
    assert (progress.made, len(progress.failed)) == (6, 6)
    assert len(pl.read_parquet(tmp_path / "out" / "runs.parquet")) == 6
    assert _run(planned, tmp_path / "out").made == 6
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == whole


def test_a_full_disk_keeps_what_is_finished(
    planned: Plan, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = journal.Journal.append, 0

    def append(self: journal.Journal, done: Done) -> None:
        nonlocal written
        if written == 4:
            raise OutputError("the disk is full")
        written += 1
        real(self, done)

    monkeypatch.setattr(journal.Journal, "append", append)
    with pytest.raises(OutputError):
        _run(planned, tmp_path / "out")
    monkeypatch.undo()
    assert _run(planned, tmp_path / "out").kept == 4
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == whole
