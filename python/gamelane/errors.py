"""Exit codes, and errors that are no fault of the program: exceptions whose message says what to do.

`cli/guard.py` turns them into exit codes. Any other exception is our bug.
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
    """How a program ended, as docs/exit-codes.md says; a test compares it with `crates/service/src/exit.rs`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    OUTPUT = 3
    PARTIAL = 4
    CANNOT_RUN = 5
    PEER = 6
    INTERRUPTED = 130


class UsageError(ValueError):
    """A request that cannot be carried out; its text says what to do instead."""


class RecordsError(UsageError):
    """A folder without records, or with records that this version cannot read."""


class OutputError(OSError):
    """Output that cannot be written."""


class LabError(RuntimeError):
    """This machine cannot run real hosts, or a program in one of them failed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early; `results` holds the finished runs, None if there are none."""

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
