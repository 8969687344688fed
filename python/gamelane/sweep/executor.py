"""The interface of what makes the runs of a sweep. Results arrive in any order; the folder sorts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from gamelane.sweep.journal import Done
from gamelane.sweep.work import Base, Failed, Job


class Executor(Protocol):
    """Makes runs, on this machine or elsewhere."""

    def results(self, base: Base, jobs: Sequence[Job]) -> Iterator[Done | Failed | None]:
        """Make every job. Yields None when no result has arrived for a moment, so that the caller can act."""
        ...

    def stop(self) -> None:
        """Start no more jobs. The current jobs finish and are still yielded."""
        ...

    def abort(self) -> None:
        """Cancel the current jobs."""
        ...

    def describe(self) -> str:
        """Describe where the runs are made."""
        ...
