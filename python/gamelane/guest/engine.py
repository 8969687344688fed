"""Runs the jobs of an experiment in guests, several side by side."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from gamelane import library
from gamelane.errors import LabError
from gamelane.guest.boot import boot
from gamelane.guest.case import ERROR, PCAP, Case, read_finished
from gamelane.guest.kinds import Guest
from gamelane.interrupts import on_ctrl_c
from gamelane.lab.run import planned_for
from gamelane.lab.topology import Between
from gamelane.runner import Batch, Finished, Job, flow_names

GLANCE_S = 0.05
PASSED = ("PATH", "PYTHONPATH", "CARGO_TARGET_DIR", "LANG", "RUST_BACKTRACE")

Said = Callable[[str], None]


def run_all(
    jobs: Sequence[Job],
    *,
    file: str,
    between: Between,
    guest: Guest,
    threads: int,
    on_done: Callable[[int], None] | None = None,
    say: Said | None = None,
    pcap: Path | None = None,
) -> Batch:
    """Run every job. All jobs are checked before the first guest boots. Ctrl-C keeps the finished runs."""
    path = str(Path(library.find(file)).resolve())
    for job in jobs:
        planned_for(between, job.scenario, path, guest.congestion_controls)
    variants = list(dict.fromkeys(job.variant for job in jobs))
    flows = list(dict.fromkeys(name for job in jobs for name in flow_names(job.scenario)))
    batch, ended = Batch(), threading.Event()

    def interrupt() -> None:
        batch.interrupted = True
        ended.set()

    def work(job: Job) -> Finished | None:
        if ended.is_set():
            return None
        case = Case.of(job, engine=between.name, file=path, variants=variants, flows=flows, pcap=pcap is not None)
        return _one(job, case, guest, ended, pcap)

    began, done = time.monotonic(), 0
    with on_ctrl_c(interrupt, earlier=True), ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        futures: list[Future[Finished | None]] = [pool.submit(work, job) for job in jobs]
        waiting = set(futures)
        while waiting:
            finished, waiting = wait(waiting, timeout=GLANCE_S, return_when=FIRST_COMPLETED)
            if any(future.exception() for future in finished):
                ended.set()
            done += len(finished)
            if finished and not ended.is_set():
                left = round((time.monotonic() - began) / done * (len(jobs) - done))
                if say is not None:
                    say(f"{between.name} in a guest: {done} of {len(jobs)} runs finished, about {left} s left")
                if on_done is not None:
                    on_done(done)
    failures = [error for future in futures if (error := future.exception()) is not None]
    batch.finished = [got for future in futures if future.exception() is None and (got := future.result())]
    if failures and not batch.interrupted:
        raise failures[0]
    return batch


def _one(job: Job, case: Case, guest: Guest, ended: threading.Event, pcap: Path | None) -> Finished | None:
    """Run one case; None if `ended` is set before its end."""
    name = f"{case.engine} in a guest ({job.variant}, seed {job.seed})"
    with TemporaryDirectory(prefix="gamelane-vm-") as place:
        folder = Path(place)
        case.write(folder)
        script = folder / "init.sh"
        words = [sys.executable, "-m", "gamelane.guest.inside"]
        script.write_text(guest.script(folder, _environment(), words), encoding="utf-8")
        said = boot(guest, script, folder, ended, name)
        if said is None:
            return None
        if (folder / ERROR).is_file():
            error = json.loads((folder / ERROR).read_text(encoding="utf-8"))
            raise LabError(error["said"])
        found = read_finished(folder)
        if found is None:
            raise LabError(f"{name} ended without a result; it said:\n" + "\n".join(said))
        if pcap is not None:
            for capture in (folder / PCAP).iterdir():
                shutil.copy(capture, pcap / capture.name)
        return Finished(job, found.record, found.frames)


def _environment() -> dict[str, str]:
    """Return the variables that programs in a guest see."""
    own = {name: value for name, value in os.environ.items() if name in PASSED or name.startswith("GAMELANE_")}
    return {**own, "HOME": "/run", "LC_ALL": "C.UTF-8"}
