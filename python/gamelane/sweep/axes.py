"""The grid of a sweep: axes of one or several linked keys, and the combinations that the filters keep."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Axis:
    """Keys that vary together, with their values as the file writes them."""

    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """Return its key, or its keys."""
        return ", ".join(self.keys)


@dataclass(frozen=True)
class Match:
    """A part of the grid: for each key, the values that belong to it."""

    values: Mapping[str, tuple[str, ...]]

    def holds(self, cell: Mapping[str, str]) -> bool:
        """Return whether a cell belongs to it."""
        return all(cell[key] in values for key, values in self.values.items())


@dataclass(frozen=True)
class Grid:
    """All combinations of the axes, except those that a filter removes."""

    axes: tuple[Axis, ...]
    only: tuple[Match, ...] = ()
    skip: tuple[Match, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Return every key that varies, in the order of the file."""
        return tuple(key for axis in self.axes for key in axis.keys)

    def values(self, key: str) -> list[str]:
        """Return the distinct values of a key, in the order of the file."""
        axis = next(axis for axis in self.axes if key in axis.keys)
        return list(dict.fromkeys(row[axis.keys.index(key)] for row in axis.values))

    def cells(self) -> Iterator[dict[str, str]]:
        """Yield each combination as key and value; the last axis varies fastest."""
        for rows in itertools.product(*(axis.values for axis in self.axes)):
            cell = {
                key: value
                for axis, row in zip(self.axes, rows, strict=True)
                for key, value in zip(axis.keys, row, strict=True)
            }
            if self.only and not any(match.holds(cell) for match in self.only):
                continue
            if not any(match.holds(cell) for match in self.skip):
                yield cell


def written(value: Scalar) -> str:
    """Return a value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label(cell: Mapping[str, str], keys: Sequence[str] | None = None) -> str:
    """Return a cell as text: `link.rtt=40ms gateway.*.queue=fifo`."""
    return " ".join(f"{key}={cell[key]}" for key in (cell if keys is None else keys))
