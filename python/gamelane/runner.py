"""Runs scenarios on threads. A native run releases the interpreter lock, so threads run in parallel.

Results are in the order of the jobs, so they do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from gamelane import _native
from gamelane.interrupts import on_ctrl_c
from gamelane.records.results import RunRecord

if TYPE_CHECKING:
    import polars as pl

Input = TypeVar("Input")
Output = TypeVar("Output")

Keep = Literal["summary", "tables", "packets"]
"""What is kept of a run: its summary; also its tables; also every packet, until `on_run` returns."""


@dataclass(frozen=True)
class Job:
    """A run to do: variant, scenario and seed."""

    variant: str
    scenario: _native.Scenario
    seed: int


@dataclass(frozen=True)
class Finished:
    """A finished run. `frames` is empty if only the summary was kept."""

    job: Job
    record: RunRecord
    frames: dict[str, pl.DataFrame]


@dataclass
class Batch:
    """Finished runs of a batch; `interrupted` if Ctrl-C came before the last run ended."""

    finished: list[Finished] = field(default_factory=list)
    interrupted: bool = False


def run_all(
    jobs: Sequence[Job],
    *,
    threads: int,
    keep: Keep = "tables",
    on_run: Callable[[Job, _native.Run], None] | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Batch:
    """Run every job.

    `on_run` is called on the thread of each run, before its packets are freed. `on_done` gets the number of finished
    runs. Ctrl-C stops the runs in progress and keeps the finished ones.
    """
    cancel = _native.Cancel()
    variants = list(dict.fromkeys(job.variant for job in jobs))
    flows = list(dict.fromkeys(name for job in jobs for name in flow_names(job.scenario)))
    batch = Batch()

    def work(job: Job) -> Finished:
        run = _native.run(job.scenario, job.seed, samples=keep != "summary", packets=keep == "packets", cancel=cancel)
        if on_run is not None:
            on_run(job, run)
        frames = {} if keep == "summary" else _frames(run, job.variant, variants, flows)
        return Finished(job, RunRecord.of(run), frames)

    def interrupt() -> None:
        batch.interrupted = True

    with on_ctrl_c(interrupt, earlier=True), ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        futures: list[Future[Finished]] = [pool.submit(work, job) for job in jobs]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=GLANCE_S, return_when=FIRST_COMPLETED)
            if batch.interrupted or any(_failed(future) for future in done):
                cancel.cancel()
                pool.shutdown(cancel_futures=True)
                break
            if on_done is not None:
                on_done(len(futures) - len(waiting))
    for future in futures:
        try:
            batch.finished.append(future.result())
        except (_native.Cancelled, CancelledError):
            continue
    return batch


def _failed(future: Future[Finished]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is not None


def flow_names(scenario: _native.Scenario) -> list[str]:
    """Return the names of the flows of a scenario, in native order."""
    return [flow["name"] for flow in scenario.flows()]


def _frames(run: _native.Run, variant: str, variants: Sequence[str], flows: Sequence[str]) -> dict[str, pl.DataFrame]:
    from gamelane.records.frames import frames  # noqa: PLC0415 - Polars loads slowly, and a summary needs none

    return frames(run, variant=variant, variants=variants, flows=flows)


def each(
    function: Callable[[Input], Output], jobs: Iterable[Input], *, threads: int, cancel: _native.Cancel
) -> Iterator[tuple[Input, Output]]:
    """Call a function on threads for every job. Yield each job with its result as soon as it is finished.

    Ctrl-C or an error also cancels the runs that use `cancel`.
    """
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True

    with on_ctrl_c(interrupt, earlier=True), ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        futures = {pool.submit(function, job): job for job in jobs}
        waiting = set(futures)
        try:
            while waiting and not interrupted:
                finished, waiting = wait(waiting, timeout=GLANCE_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield futures[future], future.result()
        finally:
            if waiting:
                cancel.cancel()
                pool.shutdown(cancel_futures=True)
    if interrupted:
        raise KeyboardInterrupt


GLANCE_S = 0.1
"""Interval at which Ctrl-C is checked."""
