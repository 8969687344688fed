"""`analyze --json` without Click, whose start takes as long as the analysis of 200,000 packets.

Scripts call this form for one capture after the other. Every other form is left to `analyze`; a test compares both.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    from gamelane.commands.unread import told  # noqa: PLC0415 - likewise

    analysis = read(files)
    analysis.print(sys.stdout.isatty())
    return told(analysis)
