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
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gamelane import library
from gamelane.errors import LabError
from gamelane.guest.boot import boot
from gamelane.guest.case import ERROR, PCAP, Case, read_finished
from gamelane.guest.kinds import SCRIPT, Guest
from gamelane.interrupts import on_ctrl_c
from gamelane.lab.run import planned_for
from gamelane.lab.topology import Between
from gamelane.runner import Batch, Finished, Job, flow_names

GLANCE_S = 0.05
PASSED = ("PATH", "PYTHONPATH", "CARGO_TARGET_DIR", "LANG", "RUST_BACKTRACE")
"""Variables that programs in a guest see, besides those of gamelane."""

Said = Callable[[str], None]


@dataclass(frozen=True)
class Guests:
    """Boots `width` guests side by side."""

    guest: Guest
    between: Between
    width: int

    def run_all(self, jobs: Sequence[Job], *, file: str, say: Said | None = None, pcap: Path | None = None) -> Batch:
        """Run every job. All jobs are checked before the first guest boots. Ctrl-C keeps the finished runs."""
        path = str(Path(library.find(file)).resolve())
        for job in jobs:
            planned_for(self.between, job.scenario, path, self.guest.congestion_controls)
        variants = dict.fromkeys(job.variant for job in jobs)
        flows = dict.fromkeys(name for job in jobs for name in flow_names(job.scenario))
        case = Case(self.between.name, path, tuple(variants), tuple(flows), pcap is not None)
        batch, ended = Batch(), threading.Event()

        def interrupt() -> None:
            batch.interrupted = True
            ended.set()

        def work(job: Job) -> Finished | None:
            return None if ended.is_set() else self._one(job, case.of(job), ended, pcap)

        with on_ctrl_c(interrupt, earlier=True), ThreadPoolExecutor(max_workers=max(1, self.width)) as pool:
            futures = [pool.submit(work, job) for job in jobs]
            self._follow(futures, ended, say)
        failures = [error for future in futures if (error := future.exception()) is not None]
        if failures and not batch.interrupted:
            raise failures[0]
        batch.finished = [got for future in futures if not future.exception() and (got := future.result())]
        return batch

    def _follow(self, futures: Sequence[Future[Finished | None]], ended: threading.Event, say: Said | None) -> None:
        """Wait for all runs, and tell how far they are. The first failure ends the others."""
        waiting, began = set(futures), time.monotonic()
        while waiting:
            finished, waiting = wait(waiting, timeout=GLANCE_S, return_when=FIRST_COMPLETED)
            if any(future.exception() for future in finished):
                ended.set()
            done = len(futures) - len(waiting)
            if finished and waiting and say is not None and not ended.is_set():
                left = round((time.monotonic() - began) / done * len(waiting))
                say(f"{self.between.name} in guests: {done} of {len(futures)} runs finished, about {left} s left")

    def _one(self, job: Job, case: Case, ended: threading.Event, pcap: Path | None) -> Finished | None:
        """Run one case; None if `ended` is set before its end."""
        name = f"{case.engine} in a guest ({job.variant}, seed {job.seed})"
        with TemporaryDirectory(prefix="gamelane-vm-") as place:
            folder = Path(place)
            case.write(folder)
            script = self.guest.script(folder, _environment(), [sys.executable, "-m", "gamelane.guest.inside"])
            (folder / SCRIPT).write_text(script, encoding="utf-8")
            said = boot(self.guest, folder, ended, seed=job.seed, name=name)
            if said is None:
                return None
            if (folder / ERROR).is_file():
                raise LabError(json.loads((folder / ERROR).read_text(encoding="utf-8")))
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
