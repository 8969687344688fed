"""Prints an analyzed capture on the terminal. No line is wider than it."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gamelane import _native


def show(document: str, console: Console) -> None:
    """Print a document, given as JSON: the blame, lag over time, the verdict, and the flows with trouble."""
    for text, style in _native.capture_lines(document, console.width, console.options.ascii_only):
        line(console, text, style=style)


def say(console: Console, text: str, *, first: str = "", style: str = "") -> None:
    """Print a sentence in the width of the terminal; further lines are indented as the first."""
    indent = cell_len(first)
    for at, part in enumerate(wrapped(text, console.width - indent, console)):
        line(console, (" " * indent if at else first) + part, style=style)


def wrapped(text: str, room: int, console: Console) -> list[str]:
    """Return the lines of a text."""
    return [part.plain.rstrip() for part in Text(text).wrap(console, max(room, 1))]


def line(console: Console, text: str, *, style: str = "") -> None:
    """Print one line as it is."""
    console.print(Text(text, style=style), no_wrap=True, crop=False, overflow="ignore")
