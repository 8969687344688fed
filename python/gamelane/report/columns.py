"""Arranges cells in columns as plain text. No cell is cut or wrapped: columns that do not fit are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

GAP = 2
"""Spaces between two columns."""

HOSTS = "hosts: "

Name = Callable[[str], str]
"""Returns the text for an endpoint, which is an address with a port."""


@dataclass(frozen=True)
class Column:
    """A column with a heading of one line or more. The highest `rank` is left out first; rank 0 always stays."""

    heading: str
    cells: Sequence[str]
    rank: int = 0
    number: bool = False

    @property
    def width(self) -> int:
        """Width of the widest cell."""
        return max(map(cell_len, (*self.heading.split("\n"), *self.cells)))


def filled(columns: Sequence[Column]) -> list[Column]:
    """Return the columns with at least one cell that has text."""
    return [column for column in columns if any(column.cells)]


def width(columns: Sequence[Column]) -> int:
    """Return the width of all columns."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def fitting(columns: Sequence[Column], available: int) -> list[Column]:
    """Return the columns that fit, in the order given."""
    kept = list(columns)
    while width(kept) > available and (worst := max(kept, key=lambda column: column.rank)).rank:
        kept.remove(worst)
    return kept


def left_out(columns: Sequence[Column], kept: Sequence[Column]) -> list[str]:
    """Return the names of the columns that did not fit, each once."""
    names = (column.heading.partition("\n")[0].removesuffix(" ms") for column in columns if column not in kept)
    return list(dict.fromkeys(names))


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


class Hosts:
    """Numbers the hosts of an output in the order in which they appear, for addresses that would not fit."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def name(self, endpoint: str) -> str:
        """Return the endpoint with a number instead of its address."""
        address, _, port = endpoint.rpartition(":")
        number = self.numbers.setdefault(address.strip("[]"), len(self.numbers) + 1)
        return f"{number}:{port}"

    def legend(self, available: int) -> list[str]:
        """Return the meaning of the numbers, as many on a line as fit; no line without numbers."""
        entries = [f"{number} = {address}" for address, number in self.numbers.items()]
        widest = max(map(len, entries), default=0)
        many = max((available - len(HOSTS) + GAP) // (widest + GAP), 1)
        rows = [entries[at : at + many] for at in range(0, len(entries), many)]
        lines = [(" " * GAP).join(entry.ljust(widest) for entry in row).rstrip() for row in rows]
        return [(" " * len(HOSTS) if at else HOSTS) + line for at, line in enumerate(lines)]
