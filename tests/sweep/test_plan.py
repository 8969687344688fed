"""Ids of runs: the same for the same run, wherever it is named; another for anything that changes a number."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gamelane import _native
from gamelane.sweep import file, plan

from .conftest import SWEEP, Write

ROOT = Path(__file__).parents[2]


def _ids(path: Path) -> list[str]:
    return [run.id for run in plan.make(file.read(path)).runs]


def test_words_about_a_sweep_do_not_change_its_runs(write: Write, small: Path) -> None:
    before = _ids(small)
    assert len(set(before)) == 12
    assert _ids(write(SWEEP.replace("120ms", "5ms") + '[plot.a]\nx = "link.rtt"\n')) == before
    assert _ids(write('name = "other"\n' + SWEEP.replace('"20ms"', '"20000us"'))) == before


def test_another_seed_value_or_version_is_another_run(
    write: Write, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(_ids(small))
    assert len(before & set(_ids(write(SWEEP.replace("[7, 8]", "[8, 9]"))))) == 6
    assert not before & set(_ids(write(SWEEP + '[set]\n"link.up" = "2mbit"\n')))
    monkeypatch.setattr(_native, "version", lambda: "99.0")
    assert not before & set(_ids(write(SWEEP)))


def test_the_contents_of_a_capture_are_part_of_the_run(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "s")
    (tmp_path / "sweep.toml").write_text('base = "s/match-replay.toml"\n[axes]\n"link.rtt" = ["40ms"]\n')
    before = _ids(tmp_path / "sweep.toml")
    capture = tmp_path / "s" / "captures" / "openarena-4p-srv.pcapng"
    _drop_last_blocks(capture, 100)
    after = _ids(tmp_path / "sweep.toml")
    assert before != after


def _drop_last_blocks(pcapng: Path, count: int) -> None:
    content, starts, at = pcapng.read_bytes(), [0], 0
    while at < len(content):
        at += int.from_bytes(content[at + 4 : at + 8], "little")
        starts.append(at)
    pcapng.write_bytes(content[: starts[-1 - count]])


def test_cells_that_come_to_the_same_run_share_it(write: Write) -> None:
    ids = _ids(write(SWEEP.replace('["20ms", "40ms", "80ms"]', '["20ms", "0.02s"]')))
    assert len(ids) == 8
    assert len(set(ids)) == 4
