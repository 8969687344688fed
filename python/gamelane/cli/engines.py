"""What `--engine` may say: the simulator, the lab, or both, laid over one another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gamelane.cli.talk import say
from gamelane.errors import UsageError, did_you_mean
from gamelane.experiment import Engine, Experiment
from gamelane.runner import Batch, Job

SIM, LAB = "sim", "lab"
ENGINES = (SIM, LAB)
ALLOWED = "sim, lab, or both as sim,lab"


def engines(text: str) -> list[str]:
    """Read `sim`, `lab` or `sim,lab`."""
    chosen = [word.strip() for word in text.split(",")]
    for word in chosen:
        if word not in ENGINES:
            hint = did_you_mean(word, ENGINES) or "\n  hint:    `gamelane doctor` lists engines and what they need"
            raise UsageError(f"--engine {text}: not an engine of this gamelane\n  allowed: {ALLOWED}{hint}")
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"--engine {text}: the same twice\n  allowed: {ALLOWED}")
    return chosen


def lab(chosen: Experiment, pcap: Path | None, *, quiet: bool) -> Engine:
    """Real hosts; they say themselves how far they are."""
    from gamelane.lab import engine  # noqa: PLC0415 - others do without

    def run_all(jobs: Sequence[Job]) -> Batch:
        return engine.run_all(jobs, file=chosen.file, say=None if quiet else say, pcap=pcap)

    return Engine(engine.ENGINE, run_all, engine.CAVEATS)
