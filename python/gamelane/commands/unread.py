"""Captures that could not be read."""

from __future__ import annotations

from gamelane.errors import ExitCode
from gamelane.terminal.talk import say

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from gamelane._native import Analysis


def told(analysis: Analysis) -> int:
    """Say what could not be read, and return the exit code."""
    if (captures := len(analysis.packets)) > 2:
        say(
            f"{captures} captures: each is analyzed alone, because only two can be compared\n"
            "  hint:    give two of them; merge files of one recording with `mergecap -w OUT FILE...`"
        )
    for problem in analysis.problems:
        say(f"error: {problem}")
    return (ExitCode.USAGE if analysis.unread else ExitCode.PARTIAL) if analysis.problems else ExitCode.OK
