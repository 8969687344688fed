"""`gamelane sweep`, as a process that is stopped, killed, and started again."""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from tests.cli.command import GAMELANE, computes, gamelane

from .conftest import SWEEP, Write

MANY = SWEEP.replace("seeds = [7, 8]", "repeats = 12").replace("[budget]", '[set]\n"duration" = "600s"\n[budget]')
"""72 runs, each long enough that a kill may come in the middle of one."""


def _start(sweep: Path, out: Path, *words: str) -> subprocess.Popen[str]:
    command = [GAMELANE, "sweep", str(sweep), "-o", str(out), "--no-report", "-j", "2", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for_lines(journal: Path, lines: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 240
    while process.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.002)


def test_killed_five_times_and_resumed_the_result_is_the_same(write: Write, tmp_path: Path) -> None:
    sweep = write(MANY)
    undisturbed = gamelane("sweep", sweep, "-o", tmp_path / "whole", "--no-report", "--quiet")
    assert undisturbed.returncode == 0, undisturbed.stderr
    moment = random.Random(20261121)
    journal = tmp_path / "out" / "journal.jsonl"
    kills = 0
    for _ in range(5):
        before = journal.read_bytes().count(b"\n") if journal.exists() else 0
        with _start(sweep, tmp_path / "out") as process:
            _wait_for_lines(journal, before + moment.randint(1, 10), process)
            time.sleep(moment.random() * 0.02)
            process.kill()
        kills += process.returncode == -signal.SIGKILL
        after = journal.read_bytes().count(b"\n")
        assert after > before
    assert kills == 5
    assert not (tmp_path / "out" / "runs.parquet").exists()
    done = gamelane("sweep", sweep, "-o", tmp_path / "out", "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["kept"] >= 5
    assert last["done"] == last["total"] == 72
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == (tmp_path / "whole" / "runs.parquet").read_bytes()


def test_ctrl_c_finishes_what_is_under_way_and_says_how_to_go_on(write: Write, tmp_path: Path) -> None:
    sweep = write(MANY)
    with _start(sweep, tmp_path / "out", "--json") as process:
        _wait_for_lines(tmp_path / "out" / "journal.jsonl", 3, process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 130, stderr
    assert "of 72 runs finished; run the same command again for the rest" in stderr
    assert "Traceback" not in stderr
    last = json.loads(stdout.splitlines()[-1])
    assert last["interrupted"] is True
    assert 3 <= last["done"] < 72
    assert len(pl.read_parquet(tmp_path / "out" / "runs.parquet")) == last["done"]


def test_ctrl_c_twice_gives_up_a_run_that_lasts_for_hours(write: Write, tmp_path: Path) -> None:
    sweep = write(SWEEP.replace("[budget]", '[set]\n"duration" = "720000s"\n[budget]'))
    with _start(sweep, tmp_path / "out") as process:
        computes(process, 4)
        process.send_signal(signal.SIGINT)
        computes(process, 6)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=240)
    assert process.returncode == 130, stderr
    assert "0 of 12 runs finished" in stderr


def test_machines_get_lines_and_people_a_map(small: Path, tmp_path: Path) -> None:
    done = gamelane("sweep", small, "-o", tmp_path / "out", "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["schema"] for line in lines} == {1}
    assert [line["event"] for line in lines][-1] == "finished"
    assert lines[-1] | {"done": 12, "failed": 0, "kept": 0, "interrupted": False} == lines[-1]
    again = gamelane("sweep", small, "-o", tmp_path / "out", "--no-report", "--quiet")
    assert again.stderr == ""
    assert "p99(quake3.rtt)" in again.stdout
    assert "estimate" in again.stdout
    assert "\x1b" not in again.stdout


def test_a_full_disk_is_exit_code_3_and_loses_nothing(write: Write, tmp_path: Path) -> None:
    sweep = write(MANY)
    limit = 60_000

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [GAMELANE, "sweep", str(sweep), "-o", str(tmp_path / "out"), "--no-report"],
        capture_output=True, text=True, check=False, timeout=240, preexec_fn=small_files,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "the disk is full" in done.stderr
    assert "finished runs are kept" in done.stderr
    kept = (tmp_path / "out" / "journal.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    assert 0 < len(kept) <= limit
    with _start(sweep, tmp_path / "out", "--json") as process:
        stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 0, stderr
    assert json.loads(stdout.splitlines()[-1])["kept"] == kept.count(b"\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["collom", "-o", "{out}"], "did you mean `collom2016`"),
        (["{small}", "-o", "{out}", "--part", "3/2"], "not K/N"),
        (["{small}", "-o", "{out}", "--detail", "link.rtt=21ms"], "20ms, 40ms, 80ms"),
        (["{broken}", "-o", "{out}"], "did you mean `axes`"),
    ],
)
def test_a_refusal_is_one_message_and_exit_code_2(
    words: list[str], complaint: str, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.toml").write_text('base = "household"\n[axis]\n')
    places = {"small": small, "out": tmp_path / "out", "broken": tmp_path / "broken.toml"}
    done = gamelane("sweep", *(word.format(**places) for word in words))
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
