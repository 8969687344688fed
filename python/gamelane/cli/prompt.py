"""`gamelane analyze CAPTURE…` without the parser of options, which takes longer to load than many a capture to read.

Only the plainest words are understood here: captures, and flags without a value. Everything else is the parser's
(`gamelane.cli.app`), which says the same of these too; tests/cli/test_prompt.py holds them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = ("--json", "--quiet", "-q")
STDIN = "-"
PARTLY, USAGE = 4, 2


def command(words: Sequence[str]) -> Callable[[], int] | None:
    """Return what to run, or None if it takes the parser to tell."""
    if not words or words[0] != "analyze":
        return None
    flags = [word for word in words[1:] if word in FLAGS]
    captures = [word for word in words[1:] if word not in FLAGS]
    if not captures or any(word.startswith("-") and word != STDIN for word in captures):
        return None
    return lambda: _analyze(captures, json="--json" in flags, quiet=len(set(flags) - {"--json"}) > 0)


def _analyze(captures: Sequence[str], *, json: bool, quiet: bool) -> int:
    from gamelane.analysis.capture import analyze  # noqa: PLC0415 - the native half only for this

    return tell(analyze(captures), None, json=json, quiet=quiet)


def tell(found: Mapping[str, Any], page: Path | None, *, json: bool, quiet: bool) -> int:
    """Print what was found in captures, and what could not be read; return the exit code."""
    from gamelane.analysis.capture import complaints, unread  # noqa: PLC0415 - likewise
    from gamelane.cli.talk import emit, say, stdout  # noqa: PLC0415 - likewise

    troubles = complaints(found)
    if json:
        emit(found)
    elif any(capture["packets"] for capture in found["captures"]) or not troubles:
        from gamelane.report.capture_terminal import show  # noqa: PLC0415 - not for --json

        show(found, stdout())
    for trouble in troubles:
        say(f"error: {trouble}")
    if page is not None and not quiet:
        say(f"report: {page}")
    elif not quiet and not json:
        say("-o DIR adds a report with plots, and tables; --connection ID --log shows one connection")
    if troubles:
        return USAGE if unread(found) else PARTLY
    return 0
