"""Makes runs on a Ray cluster (optional: `pip install gamelane[ray]`).

Runs are sent in chunks of about `CHUNK_S` of work, so that Ray's overhead per task stays below 5 %. If a worker is
lost, its chunk runs again elsewhere. Every machine of the cluster needs this version of gamelane, and the scenario's
captures at the same path.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

from gamelane import _native
from gamelane.errors import UsageError
from gamelane.sweep.journal import Done
from gamelane.sweep.work import Base, Failed, Job, make

CHUNK_S = 2.0
AT_MOST = 256
GLANCE_S = 0.1
REACH_S = 5.0
RETRIES = 3


class Ray:
    """Makes runs as Ray tasks. `auto` joins the cluster of this machine, `local` starts one, else it is an address."""

    def __init__(self, address: str, workers: int | None = None) -> None:
        self._ray = _module()
        self._mine = not self._ray.is_initialized()
        if self._mine:
            self._connect(address, workers)
        self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._stopped = False
        self._aborted = False

    def results(self, base: Base, jobs: Sequence[Job]) -> Iterator[Done | Failed | None]:
        """Make every job."""
        task = self._ray.remote(num_cpus=1, max_retries=RETRIES)(_chunk)
        shared = self._ray.put(base)
        under_way: dict[Any, Sequence[Job]] = {}
        seconds: list[float] = []
        at = 0
        try:
            while under_way or (at < len(jobs) and not self._stopped):
                while at < len(jobs) and len(under_way) < 2 * self.workers and not self._stopped:
                    size = chunk_size(seconds, left=len(jobs) - at, workers=self.workers)
                    under_way[task.remote(shared, list(jobs[at : at + size]), _native.version())] = jobs[at : at + size]
                    at += size
                ready, _ = self._ray.wait(list(under_way), timeout=GLANCE_S)
                if self._aborted:
                    return
                for reference in ready:
                    chunk = under_way.pop(reference)
                    for result in self._result(reference, chunk):
                        if isinstance(result, Done):
                            seconds.append(result.cpu_seconds)
                        yield result
                if not ready:
                    yield None
        finally:
            for reference in under_way:
                self._ray.cancel(reference, force=True)
            if self._mine:
                self._ray.shutdown()

    def stop(self) -> None:
        """Start no further chunk."""
        self._stopped = True

    def abort(self) -> None:
        """Cancel the current chunks."""
        self._stopped = self._aborted = True

    def describe(self) -> str:
        """Describe the number of workers."""
        return f"Ray, {self.workers} workers"

    def _result(self, reference: Any, chunk: Sequence[Job]) -> list[Done | Failed]:
        try:
            found: list[Done | Failed] = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            why = f"its worker was lost {RETRIES + 1} times, or could not start: {str(error).splitlines()[0]}"
            return [Failed(job.id, why) for job in chunk]
        return found

    def _connect(self, address: str, workers: int | None) -> None:
        if address not in ("auto", "local"):
            _reachable(address)
        try:
            self._ray.init(
                address=None if address == "local" else address,
                num_cpus=workers if address == "local" else None,
                include_dashboard=False if address == "local" else None,
                log_to_driver=False,
                logging_level="error",
                configure_logging=False,
            )
        except Exception as error:  # Ray also raises bare exceptions
            raise UsageError(
                f"--ray {address}: no Ray cluster answers: {str(error).splitlines()[0]}\n"
                "  allowed: auto (a cluster on this machine), HOST:PORT, ray://HOST:10001, local (starts one)\n"
                "  hint:    `ray start --head` starts a cluster"
            ) from None


def chunk_size(seconds: Sequence[float], *, left: int, workers: int) -> int:
    """Return the number of runs in the next chunk: `CHUNK_S` of work, but fewer at the end, so that no worker is idle.

    The first chunks are single runs, because the cost of a run is unknown.
    """
    if not seconds:
        return 1
    recent = seconds[-AT_MOST:]
    enough = int(CHUNK_S / max(sum(recent) / len(recent), 1e-4))
    fair = -(-left // (2 * workers))
    return max(1, min(enough, fair, AT_MOST, left))


def _chunk(base: Base, jobs: list[Job], version: str) -> list[Done | Failed]:
    """Run a chunk on a worker."""
    if _native.version() != version:
        why = f"a worker has gamelane {_native.version()}, and this is {version}"
        return [Failed(job.id, why) for job in jobs]
    return [make(base, job) for job in jobs]


def _reachable(address: str) -> None:
    """Connect before Ray does: Ray would try for half a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(
            f"--ray {address}: not an address\n  allowed: auto, HOST:PORT, ray://HOST:10001, local\n"
            "  hint:    `ray start --head` prints the address of the cluster it starts"
        )
    try:
        socket.create_connection((host, int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--ray {address}: no answer: {error}\n"
            "  hint:    start a cluster with `ray start --head` on that machine, or with `--ray local` here"
        ) from None


def _module() -> Any:
    try:
        import ray  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise UsageError("--ray: Ray is not installed\n  hint:    pip install 'gamelane[ray]'") from None
    return ray
