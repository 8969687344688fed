"""Reads `--engine`: the simulator, the lab, the kernel's queues, or several for comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gamelane import host
from gamelane.errors import UsageError, did_you_mean
from gamelane.experiment import Engine, Experiment
from gamelane.runner import Batch, Job

SIM, LAB, KERNEL = "sim", "lab", "kernel"
ENGINES = (SIM, LAB, KERNEL)
ALLOWED = "sim, lab, kernel, or several as sim,lab"


def engines(text: str) -> list[str]:
    """Read one or several engines: `sim` or `sim,lab`."""
    chosen = [word.strip() for word in text.split(",")]
    for word in chosen:
        if word not in ENGINES:
            hint = did_you_mean(word, ENGINES) or "\n  hint:    `gamelane doctor` lists the engines and what each needs"
            raise UsageError(f"--engine {text}: unknown engine\n  allowed: {ALLOWED}{hint}")
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"--engine {text}: an engine is named twice\n  allowed: {ALLOWED}")
    return chosen


def real(
    name: str,
    chosen: Experiment,
    pcap: Path | None,
    *,
    vm: bool,
    threads: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Engine:
    """Return an engine that runs real hosts in network namespaces. It reports its own progress by `tell`.

    With `vm` they are in guests in virtual time, `threads` of them side by side.
    """
    from gamelane.lab import engine  # noqa: PLC0415 - only these engines need it
    from gamelane.lab.betweens import between  # noqa: PLC0415

    if not vm:
        what = between(name)

        def run_all(jobs: Sequence[Job]) -> Batch:
            return engine.run_all(jobs, path=chosen.path, between=what, say=tell, pcap=pcap)

        return Engine(name, run_all, engine.CAVEATS)

    from gamelane.guest.choice import choose  # noqa: PLC0415
    from gamelane.guest.engine import Guests  # noqa: PLC0415

    guest = choose()
    width = host.cores() if threads is None else threads
    guests = Guests(guest, between(name, exact=guest.virtual_time, available=guest.available), width)

    def run_guests(jobs: Sequence[Job]) -> Batch:
        return guests.run_all(jobs, path=chosen.path, say=tell, pcap=pcap)

    time = "virtual" if guest.virtual_time else "real"
    said = f"Real hosts in {time} time, in a guest: {guest.label}."
    return Engine(name, run_guests, (said,), {"kernel": guest.label})
