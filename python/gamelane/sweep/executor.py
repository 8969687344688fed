"""What makes the runs of a sweep. Results come as they are finished, in any order: the store puts them into theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from gamelane.sweep.journal import Done
from gamelane.sweep.work import Base, Failed, Job


class Executor(Protocol):
    """Makes runs somewhere."""

    def results(self, base: Base, jobs: Sequence[Job]) -> Iterator[Done | Failed | None]:
        """Make every job. None means that nothing new has come for a moment, so that the caller may look around."""
        ...

    def stop(self) -> None:
        """Begin nothing more; what is under way is finished and still comes."""
        ...

    def abort(self) -> None:
        """Give up what is under way."""
        ...

    def describe(self) -> str:
        """Say where the runs are made."""
        ...
