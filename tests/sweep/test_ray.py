"""The same sweep on a local Ray cluster of two workers: the same bytes, also when one of them is killed half-way."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gamelane.errors import UsageError
from gamelane.sweep import execute, file, folder, plan
from gamelane.sweep.executor import Executor
from gamelane.sweep.local import Local
from gamelane.sweep.ray import CHUNK_S, Ray, chunk_size
from gamelane.sweep.work import Job
from gamelane.whole import claimed
from tests.cli.command import gamelane
from tests.needs import needs

from .conftest import SWEEP, Write

needs_ray = needs(importlib.util.find_spec("ray"), "ray is missing: pip install 'gamelane[ray]'")

SOME = SWEEP.replace("seeds = [7, 8]", "repeats = 8").replace("[budget]", '[set]\n"duration" = "600s"\n[budget]')


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers. Ray gives its own processes 30 s to start, which a machine under load may exceed once."""
    import ray

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        for left in (2, 1, 0):
            try:
                ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
                break
            except Exception:
                ray.shutdown()
                if not left:
                    raise
        yield ray
        ray.shutdown()


def _sweep(sweep: Path, out: Path, executor: Executor, on_progress: Any = lambda _: None) -> execute.Progress:
    planned = plan.make(file.read(sweep))
    out.mkdir()
    with claimed(out):
        work = execute.todo(planned, execute.Part(), folder.begin(out, planned))
        progress = execute.execute(work, out, executor, on_progress)
        folder.finish(out)
    return progress


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_the_bytes_are_those_of_threads_although_a_worker_is_killed_half_way(
    cluster: Any, write: Write, tmp_path: Path
) -> None:
    sweep = write(SOME)
    assert _sweep(sweep, tmp_path / "threads", Local(2)).made == 48
    killed: list[int] = []

    def kill_one(progress: execute.Progress) -> None:
        if not killed and progress.made >= progress.total // 2:
            killed.append(_a_busy_worker(cluster))
            os.kill(killed[0], signal.SIGKILL)

    progress = _sweep(sweep, tmp_path / "ray", Ray("auto"), kill_one)
    assert killed
    assert (progress.made, progress.failed) == (48, [])
    assert (tmp_path / "ray" / "runs.parquet").read_bytes() == (tmp_path / "threads" / "runs.parquet").read_bytes()


def _a_busy_worker(cluster: Any) -> int:
    """Return the process of a worker that is making runs."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                title = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::_chunk"):
                return int(process.name)
        time.sleep(0.005)
    pytest.fail(f"no worker is busy: {cluster.cluster_resources()}")


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_run_that_a_worker_cannot_make_is_a_failure_and_not_the_end(
    cluster: Any, write: Write, tmp_path: Path
) -> None:
    assert cluster
    planned = plan.make(file.read(write(SWEEP)))
    (tmp_path / "out").mkdir()
    work = execute.todo(planned, execute.Part(), folder.begin(tmp_path / "out", planned))
    broken = execute.Todo(work.base, (Job("x", (("link.rtt", "soon"),), 1), *work.jobs[:2]), 0)
    progress = execute.execute(broken, tmp_path / "out", Ray("auto"), lambda _: None)
    assert progress.made == 2
    assert "link.rtt" in progress.failed[0].why


def test_chunks_are_worth_sending_and_leave_nobody_waiting() -> None:
    assert chunk_size([], left=1000, workers=2) == 1
    assert chunk_size([0.02] * 50, left=10_000, workers=2) == pytest.approx(CHUNK_S / 0.02, abs=1)
    assert chunk_size([0.02] * 50, left=20, workers=2) == 5
    assert chunk_size([60.0], left=100, workers=2) == 1
    assert chunk_size([0.0], left=10_000, workers=1) == 256


@needs_ray
@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("{closed}", "no answer"),
        ("ray://{closed}", "no answer"),
        ("somewhere", "not an address"),
        ("host:port", "not an address"),
    ],
)
def test_an_address_where_no_cluster_is_refused_early(address: str, complaint: str) -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{door.getsockname()[1]}"
    begun = time.monotonic()
    from gamelane.sweep.ray import _reachable

    with pytest.raises(UsageError, match=complaint) as refusal:
        _reachable(address.format(closed=closed))
    assert "ray start --head" in str(refusal.value)
    assert time.monotonic() - begun < 10


@needs_ray
def test_the_command_refuses_before_it_makes_anything(small: Path, tmp_path: Path) -> None:
    done = gamelane("sweep", small, "-o", tmp_path / "out", "--ray", "127.0.0.1:1")
    assert done.returncode == 2, done.stderr
    assert "no answer" in done.stderr
    assert not (tmp_path / "out").exists()
