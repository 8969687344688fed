"""Arranges cells in columns as plain text. No cell is cut or wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

GAP = 2
"""Spaces between two columns."""


@dataclass(frozen=True)
class Column:
    """A column with a heading of one line or more."""

    heading: str
    cells: Sequence[str]
    number: bool = False

    @property
    def width(self) -> int:
        """Width of the widest cell."""
        return max(map(cell_len, (*self.heading.split("\n"), *self.cells)))


def width(columns: Sequence[Column]) -> int:
    """Return the width of all columns."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def lines(columns: Sequence[Column]) -> tuple[list[str], list[str]]:
    """Return the lines of the heading, and those of the rows."""
    headings = [column.heading.split("\n") for column in columns]
    deep = max(map(len, headings))
    head = [[heading[at] if at < len(heading) else "" for heading in headings] for at in range(deep)]
    rows = list(zip(*(column.cells for column in columns), strict=True))
    return [_line(columns, cells) for cells in head], [_line(columns, cells) for cells in rows]


def _line(columns: Sequence[Column], cells: Sequence[str]) -> str:
    padded = []
    for column, cell in zip(columns, cells, strict=True):
        space = " " * (column.width - cell_len(cell))
        padded.append(space + cell if column.number else cell + space)
    return (" " * GAP).join(padded).rstrip()
