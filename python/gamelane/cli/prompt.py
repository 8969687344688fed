"""`analyze --json` without Click, whose start takes as long as the analysis of 200,000 packets.

Scripts call this form for one capture after the other. Every other form is left to `analyze`; a test compares both.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gamelane._native import Analysis

QUIET = ("-q", "--quiet")


def captures(words: Sequence[str]) -> list[str] | None:
    """Return the captures of an `analyze --json` with no other option; None for any other command."""
    if words[:1] != ["analyze"] or "--json" not in words:
        return None
    rest = [word for word in words[1:] if word not in ("--json", *QUIET)]
    return None if not rest or any(word.startswith("-") and word != "-" for word in rest) else rest


def run(files: Sequence[str]) -> int:
    """Analyze, print the document, and return the exit code."""
    from gamelane.analysis.capture import read  # noqa: PLC0415 - only where it is needed

    analysis = read(files)
    analysis.print(sys.stdout.isatty())
    return told(analysis)


def told(analysis: Analysis) -> int:
    """Say what could not be read, and return the exit code."""
    from gamelane.cli.guard import PARTLY, USAGE  # noqa: PLC0415 - likewise
    from gamelane.cli.talk import say  # noqa: PLC0415 - likewise

    if (captures := len(analysis.packets)) > 2:
        say(
            f"{captures} captures: each is analyzed alone, because only two can be compared\n"
            "  hint:    give two of them; merge files of one recording with `mergecap -w OUT FILE...`"
        )
    for problem in analysis.problems:
        say(f"error: {problem}")
    return (USAGE if analysis.unread else PARTLY) if analysis.problems else 0
