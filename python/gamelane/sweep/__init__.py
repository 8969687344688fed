"""Sweeps: run every combination of some keys of a scenario, and keep the results.

from gamelane import sweep
found = sweep.make("sweep.toml", "out")         # runs what is missing, on all cores
found.frame                                     # a Polars frame, one row per run
found.cells[0].estimate(found.metrics["p99(quake3.rtt)"])
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from gamelane.sweep.records import SweepRecords, read

if TYPE_CHECKING:
    from gamelane.sweep.executor import Executor

__all__ = ["SweepRecords", "make", "read"]


def make(sweep: str | PathLike[str], folder: str | PathLike[str], *, executor: Executor | None = None) -> SweepRecords:
    """Run what is missing of a sweep in a folder, and read the results. Raises `RuntimeError` if a run fails."""
    from gamelane import host, whole  # noqa: PLC0415 - reading a sweep needs no engine
    from gamelane.sweep import details, execute, file, plan  # noqa: PLC0415
    from gamelane.sweep import folder as store  # noqa: PLC0415
    from gamelane.sweep.local import Local  # noqa: PLC0415

    planned = plan.make(file.read(sweep))
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    with whole.claimed(path):
        work = execute.todo(planned, execute.Part(), store.begin(path, planned))
        progress = execute.execute(work, path, executor or Local(host.cores()), lambda _: None)
        store.finish(path)
        if progress.interrupted:
            raise KeyboardInterrupt
        details.keep(planned, path, planned.sweep.details)
    if progress.failed:
        raise RuntimeError(f"{len(progress.failed)} runs failed: {progress.failed[0].why}")
    return read(path)
