"""Exceptions for problems that are not bugs, with a message for the user.

The command maps them to exit codes (docs/exit-codes.md). Any other exception that escapes is a bug in gamelane.
"""

from __future__ import annotations

from enum import IntEnum

from gamelane._native import ScenarioError

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gamelane.records.results import Results

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
    """A request that cannot be carried out. The message says what to do instead."""


class RecordsError(UsageError):
    """A folder without records, or with records that this version cannot read."""


class OutputError(OSError):
    """A result that cannot be written."""


class LabError(RuntimeError):
    """The lab cannot run here, or something in it failed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `results` holds the finished runs, or None if there are none."""

    def __init__(self, results: Results | None, finished: int, planned: int) -> None:
        super().__init__(f"interrupted: {finished} of {planned} runs finished")
        self.results = results
        self.finished = finished
        self.planned = planned


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return a hint with the closest known word, if one is close."""
    import difflib  # noqa: PLC0415 - loads slowly, and is rarely needed

    close = difflib.get_close_matches(given, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return the same as a line of an error message, or an empty string."""
    hint = nearest(given, known)
    return f"\n  hint:    {hint}" if hint else ""


def aligned(message: str) -> str:
    """Return an error message of the native module with its hint indented as in ours."""
    return message.replace("\nhint: ", "\n  hint:    ")
