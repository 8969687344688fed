"""What can go wrong through no fault of the program, as exceptions with a message for the person at the keyboard.

The command maps them onto exit codes (docs/exit-codes.md); anything else that escapes is our bug.
"""

from __future__ import annotations

from enum import IntEnum

from gamelane._native import ScenarioError

TYPE_CHECKING = False  # without typing, which is slow to load
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gamelane.records import Results

__all__ = [
    "ExitCode",
    "Interrupted",
    "LabError",
    "OutputError",
    "RecordsError",
    "ScenarioError",
    "UsageError",
    "did_you_mean",
]


class ExitCode(IntEnum):
    """How a program ended (docs/exit-codes.md). A test compares it with `crates/service/src/exit.rs`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    OUTPUT = 3
    PARTIAL = 4
    CANNOT_RUN = 5
    PEER = 6
    INTERRUPTED = 130


class UsageError(ValueError):
    """A request that makes no sense, with the way out in its text."""


class RecordsError(UsageError):
    """A folder that should hold records does not, or holds records this version cannot read."""


class OutputError(OSError):
    """A result that cannot be written."""


class LabError(RuntimeError):
    """Real hosts cannot be had here, or something in them failed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C half-way; `results` holds the runs that had finished, or is None if none had."""

    def __init__(self, results: Results | None, finished: int, planned: int) -> None:
        super().__init__(f"interrupted: {finished} of {planned} runs finished")
        self.results = results
        self.finished = finished
        self.planned = planned


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a hint line naming the closest known word, or nothing."""
    import difflib  # noqa: PLC0415 - takes long to load, and few are mistaken

    close = difflib.get_close_matches(given, list(known), n=1)
    return f"\n  hint:    did you mean `{close[0]}`?" if close else ""
