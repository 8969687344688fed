"""Runs what is missing of a sweep: an executor makes the runs, and each is written to the journal.

Ctrl-C finishes the current runs; a second Ctrl-C cancels them. Every finished run is in the folder either way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gamelane.interrupts import on_ctrl_c
from gamelane.sweep import folder as store
from gamelane.sweep import journal
from gamelane.sweep.executor import Executor
from gamelane.sweep.folder import Kept
from gamelane.sweep.plan import Plan, overrides
from gamelane.sweep.work import Base, Failed, Job


@dataclass
class Progress:
    """Progress of a sweep. `kept` runs were there before; `rate` counts only new runs, per second."""

    total: int
    kept: int
    made: int = 0
    failed: list[Failed] = field(default_factory=list)
    cpu_seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False

    @property
    def done(self) -> int:
        """Return the number of finished runs."""
        return self.kept + self.made

    @property
    def elapsed_s(self) -> float:
        """Return the time since the first new run started, in seconds."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float | None:
        """Return new runs per second; None before the first."""
        return self.made / self.elapsed_s if self.made and self.elapsed_s > 0 else None

    @property
    def eta_s(self) -> float | None:
        """Return the remaining time at this rate, in seconds."""
        return (self.total - self.done - len(self.failed)) / self.rate if self.rate else None


@dataclass(frozen=True)
class Part:
    """One machine's share of a sweep. Runs are assigned by their ids, so no part gets all slow values of an axis."""

    number: int = 1
    of: int = 1

    def has(self, name: str) -> bool:
        """Return whether the run of this id belongs to the part."""
        return int(name, 16) % self.of == self.number - 1


@dataclass(frozen=True)
class Todo:
    """The runs to make, and the number of runs of this part that are there already."""

    base: Base
    jobs: tuple[Job, ...]
    kept: int


def todo(plan: Plan, part: Part, kept: Kept) -> Todo:
    """Return the missing runs of a part. Cells with the same model share their runs."""
    found: dict[str, Job] = {}
    for run in plan.runs:
        if run.id not in found:
            cell = plan.cells[run.cell]
            found[run.id] = Job(run.id, tuple(overrides(plan.sweep, cell.values)), run.seed)
    wanted = [job for job in found.values() if part.has(job.id)]
    missing = tuple(job for job in wanted if job.id not in kept.ids)
    return Todo(Base(plan.sweep.base_text, str(plan.sweep.base_path.absolute())), missing, len(wanted) - len(missing))


def execute(work: Todo, folder: Path, executor: Executor, on_progress: Callable[[Progress], None]) -> Progress:
    """Run what is missing; return the final progress."""
    progress = Progress(total=work.kept + len(work.jobs), kept=work.kept)

    def heard() -> None:
        if progress.interrupted:
            executor.abort()
        else:
            progress.interrupted = True
            executor.stop()

    with journal.Journal(folder / store.JOURNAL) as written, on_ctrl_c(heard, earlier=True):
        on_progress(progress)
        for result in executor.results(work.base, work.jobs):
            if isinstance(result, Failed):
                progress.failed.append(result)
            elif result is not None:
                written.append(result)
                progress.made += 1
                progress.cpu_seconds += result.cpu_seconds
            on_progress(progress)
    return progress
