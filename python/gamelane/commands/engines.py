"""Reads `--engine`: the simulator, the lab, or both for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gamelane.errors import UsageError, did_you_mean
from gamelane.experiment import Engine, Experiment
from gamelane.runner import Batch, Job
from gamelane.terminal.talk import say

SIM, LAB = "sim", "lab"
ENGINES = (SIM, LAB)
ALLOWED = "sim, lab, or both as sim,lab"


def engines(text: str) -> list[str]:
    """Read `sim`, `lab` or `sim,lab`."""
    chosen = [word.strip() for word in text.split(",")]
    for word in chosen:
        if word not in ENGINES:
            hint = did_you_mean(word, ENGINES) or "\n  hint:    `gamelane doctor` lists the engines and what each needs"
            raise UsageError(f"--engine {text}: unknown engine\n  allowed: {ALLOWED}{hint}")
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"--engine {text}: an engine is named twice\n  allowed: {ALLOWED}")
    return chosen


def lab(chosen: Experiment, pcap: Path | None, *, quiet: bool) -> Engine:
    """Return the engine that runs real hosts in network namespaces. It reports its own progress."""
    from gamelane.lab import engine  # noqa: PLC0415 - only this engine needs it

    def run_all(jobs: Sequence[Job]) -> Batch:
        return engine.run_all(jobs, file=chosen.file, say=None if quiet else say, pcap=pcap)

    return Engine(engine.ENGINE, run_all, engine.CAVEATS)
