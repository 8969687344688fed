"""Runs the jobs of an experiment in guests, several side by side."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gamelane import programs
from gamelane.errors import LabError, UsageError
from gamelane.guest.boot import Watch, boot
from gamelane.guest.case import ERROR, Case
from gamelane.guest.kinds import SCRIPT, Guest
from gamelane.interrupts import on_ctrl_c
from gamelane.lab import run
from gamelane.lab.observed import Observed
from gamelane.lab.plan import Plan
from gamelane.lab.run import Wanted, planned_for
from gamelane.lab.topology import Between
from gamelane.runner import Batch, Finished, Job, flow_names

MAPPINGS = (
    "  hint:    a guest needs a mapping of the host for each of its pages, and many programs need many;\n"
    "           run `sudo sysctl vm.max_map_count=1000000`, or a scenario with fewer flows"
)
"""What to do if the host's limit of mappings ended a guest."""
GLANCE_S = 0.05
EVERY_S = 10.0
"""Interval of lines about the progress."""
PASSED = ("PATH", "PYTHONPATH", "CARGO_TARGET_DIR", "LANG", "RUST_BACKTRACE")
"""Variables that programs in a guest see, besides those of gamelane."""

Said = Callable[[str], None]


@dataclass(frozen=True)
class Guests:
    """Boots `width` guests side by side."""

    guest: Guest
    between: Between
    width: int

    def run_all(self, jobs: Sequence[Job], *, path: str, say: Said | None = None, pcap: Path | None = None) -> Batch:
        """Run every job. All jobs are checked before the first guest boots. Ctrl-C keeps the finished runs."""
        path = str(Path(path).resolve())
        controls = self.guest.congestion_controls
        plans = [planned_for(self.between, job.scenario, path, controls) for job in jobs]
        variants = list(dict.fromkeys(job.variant for job in jobs))
        flows = list(dict.fromkeys(name for job in jobs for name in flow_names(job.scenario)))
        batch, ended = Batch(), threading.Event()
        name = f"{self.between.name} in a guest"
        watches = [Watch(f"{name} ({job.variant}, seed {job.seed})", job.seed, ended) for job in jobs]

        def interrupt() -> None:
            batch.interrupted = True
            ended.set()

        def work(job: Job, planned: Plan, watch: Watch) -> Finished | None:
            if ended.is_set():
                return None
            wanted = Wanted(job.scenario, path, job.variant, job.seed, variants, flows, self.between)
            done = self._one(
                wanted, planned, Case.of(job, self.between.name, path, exact=self.guest.virtual_time), watch, pcap
            )
            return None if done is None else Finished(job, done.record, done.frames)

        with on_ctrl_c(interrupt, earlier=True), ThreadPoolExecutor(max_workers=max(1, self.width)) as pool:
            futures = [pool.submit(work, *of) for of in zip(jobs, plans, watches, strict=True)]
            planned_s = [job.scenario.duration_s for job in jobs]
            for done, share, left_s in _follow(futures, watches, planned_s):
                if say is not None and not batch.interrupted:
                    part = f"{done} of {len(jobs)} runs finished, {share:.0%} of all"
                    say(f"{self.between.name} in guests: {part}, about {left_s:.0f} s left")
        failures = [error for future in futures if (error := future.exception()) is not None]
        if failures and not batch.interrupted:
            raise failures[0]
        batch.finished = [got for future in futures if not future.exception() and (got := future.result())]
        return batch

    def _programs(self) -> list[Path]:
        """Return the programs of the engine that are built. The guest names those that it misses."""
        found = []
        for program in (*self.between.needed, programs.TRAFFIC):
            with suppress(UsageError):
                found.append(program.find())
        return found

    def _one(self, wanted: Wanted, planned: Plan, case: Case, watch: Watch, pcap: Path | None) -> run.Finished | None:
        """Play one case in a guest and evaluate it here; None if it was ended before."""
        with TemporaryDirectory(prefix="gamelane-vm-") as place:
            folder = Path(place)
            case.write(folder)
            script = self.guest.script(folder, _environment(), [sys.executable, "-m", "gamelane.guest.inside"])
            (folder / SCRIPT).write_text(script, encoding="utf-8")
            self.guest.pack(folder, [*self._programs(), *case.named])
            said = boot(self.guest, folder, watch)
            if said is None:
                return None
            self.guest.unpack(folder)
            if (folder / ERROR).is_file():
                raise LabError(json.loads((folder / ERROR).read_text(encoding="utf-8")))
            observed = Observed.read(folder)
            if observed is None:
                hint = f"\n{MAPPINGS}" if any("max_map_count" in line for line in said) else ""
                raise LabError(f"{watch.name} ended without a result; it said:\n" + "\n".join(said) + hint)
            return run.evaluate(wanted, planned, observed, folder, pcap)


def _follow(
    futures: Sequence[Future[Finished | None]], watches: Sequence[Watch], planned_s: Sequence[float]
) -> Iterator[tuple[int, float, float]]:
    """Yield now and then: finished runs, share of all virtual time, seconds left. The first failure ends all runs."""
    waiting, began, said = set(futures), time.monotonic(), time.monotonic()
    while waiting:
        finished, waiting = wait(waiting, timeout=GLANCE_S, return_when=FIRST_COMPLETED)
        if any(future.exception() for future in finished):
            watches[0].ended.set()
        now = time.monotonic()
        if waiting and (finished or now - said > EVERY_S) and not watches[0].ended.is_set():
            said = now
            done_s = sum(
                planned if future.done() else min(watch.at_s, planned)
                for future, watch, planned in zip(futures, watches, planned_s, strict=True)
            )
            share = done_s / sum(planned_s)
            if share > 0:
                yield len(futures) - len(waiting), share, (now - began) * (1 - share) / share


def _environment() -> dict[str, str]:
    """Return the variables that programs in a guest see."""
    own = {name: value for name, value in os.environ.items() if name in PASSED or name.startswith("GAMELANE_")}
    return {**own, "HOME": "/run", "LC_ALL": "C.UTF-8"}
