"""Makes runs on the cores of this machine, in threads. The native module releases the GIL during a run.

At most two jobs per thread are queued at a time, so memory use does not grow with the sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from gamelane import _native
from gamelane.runner import GLANCE_S
from gamelane.sweep.journal import Done
from gamelane.sweep.work import Base, Failed, Job, make


class Local:
    """Makes runs on threads of this process."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._cancel = _native.Cancel()
        self._stopped = False

    def results(self, base: Base, jobs: Sequence[Job]) -> Iterator[Done | Failed | None]:
        """Make every job."""
        with ThreadPoolExecutor(max_workers=self.threads) as pool:
            under_way: set[Future[Done | Failed]] = set()
            following = iter(jobs)
            try:
                while True:
                    while not self._stopped and len(under_way) < 2 * self.threads:
                        job = next(following, None)
                        if job is None:
                            break
                        under_way.add(pool.submit(make, base, job, self._cancel))
                    if not under_way:
                        return
                    finished, under_way = wait(under_way, timeout=GLANCE_S, return_when=FIRST_COMPLETED)
                    for future in finished:
                        if not future.cancelled():
                            try:
                                yield future.result()
                            except _native.Cancelled:
                                continue
                    if not finished:
                        yield None
            finally:
                self._cancel.cancel()
                pool.shutdown(wait=True, cancel_futures=True)

    def stop(self) -> None:
        """Start no more jobs."""
        self._stopped = True

    def abort(self) -> None:
        """Stop the current runs within some milliseconds."""
        self._stopped = True
        self._cancel.cancel()

    def describe(self) -> str:
        """Describe the number of threads."""
        return f"{self.threads} threads"
