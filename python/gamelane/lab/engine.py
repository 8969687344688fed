"""Runs the jobs of an experiment in the lab, one after another, in real time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gamelane.interrupts import on_ctrl_c
from gamelane.lab.run import Wanted, check, planned_for, run
from gamelane.lab.topology import Between
from gamelane.runner import Batch, Finished, Job, flow_names

AROUND_S = 7.0
"""Time for set-up and evaluation of a run on an idle machine."""
CAVEATS = (
    "Real hosts on one machine: its other load affects the results. TCP is the kernel's: from Linux 6.17 on it detects "
    'losses by RACK even if the scenario sets recovery = "sack".',
)

Said = Callable[[str], None]


def run_all(
    jobs: Sequence[Job],
    *,
    path: str,
    between: Between,
    say: Said | None = None,
    pcap: Path | None = None,
) -> Batch:
    """Run every job. All jobs are checked before the first one runs. Ctrl-C keeps the finished runs."""
    plans = [planned_for(between, job.scenario, path) for job in jobs]
    check(between)
    variants = list(dict.fromkeys(job.variant for job in jobs))
    flows = list(dict.fromkeys(name for job in jobs for name in flow_names(job.scenario)))
    batch = Batch()

    def interrupt() -> None:
        batch.interrupted = True

    left_s = [planned.duration_s + AROUND_S for planned in plans]
    with on_ctrl_c(interrupt, earlier=True):
        for number, job in enumerate(jobs):
            if batch.interrupted:
                break
            if say is not None:
                ahead = _ahead(left_s[number:])
                say(f"{between.name}: run {number + 1} of {len(jobs)} ({job.variant}, seed {job.seed}), {ahead} left")
            began = time.monotonic()
            wanted = Wanted(job.scenario, path, job.variant, job.seed, variants, flows, between)
            done = run(wanted, stopped=lambda: batch.interrupted, pcap=pcap)
            if done is None:
                break
            took = time.monotonic() - began
            left_s = [of + took - left_s[number] if later > number else of for later, of in enumerate(left_s)]
            batch.finished.append(Finished(job, done.record, done.frames))
    return batch


def _ahead(left_s: Sequence[float]) -> str:
    total = round(sum(left_s))
    return f"{total // 60} min {total % 60} s" if total >= 60 else f"{total} s"
