"""A sweep file: the keys of a scenario that vary, the seeds, the budgets and the plots (docs/sweep.md).

This module refuses what is wrong in the file itself. `plan` refuses keys and metrics that the scenario does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gamelane import _native, library
from gamelane.errors import ScenarioError, nearest
from gamelane.sweep.axes import Axis, Grid, Match
from gamelane.sweep.budget import COMPARISON, Budget
from gamelane.sweep.refusal import Source
from gamelane.sweep.tables import SCALAR, Table, Value, ValueOrValues, parse


def _comparison(bound: object) -> tuple[str, str]:
    found = COMPARISON.fullmatch(bound) if isinstance(bound, str) else None
    if found is None:
        raise ValueError("not a bound")
    return found[1], found[2]


Values = Annotated[list[Value], Field(min_length=1)]
Matches = list[dict[str, ValueOrValues]]


class PlotTable(Table):
    """A table `[plot.NAME]`."""

    kind: Literal["heat", "box", "line"] = "line"
    title: str | None = Field(None, description="text")
    x: str = Field(description="a key of [axes] or [[linked]]")
    y: str | None = Field(None, description="a key of [axes] or [[linked]]")
    metric: str | None = Field(None, description='a metric, for example "p99(quake3.rtt)"')
    colour: str | None = Field(None, description="a key of [axes] or [[linked]]")
    panel: str | None = Field(None, description="a key of [axes] or [[linked]]")
    less: str | None = Field(None, description="a key of [axes] or [[linked]]")
    where: dict[str, ValueOrValues] = Field({}, description='{ "KEY" = "VALUE" }')


class Document(Table):
    """The whole file."""

    base: str = Field(description="a path to a scenario, or the name of a shipped one")
    name: str | None = Field(None, description="text")
    question: str | None = Field(None, description="text")
    repeats: int | None = Field(None, ge=1, description="a whole number, 1 or more")
    seeds: list[Annotated[int, Field(ge=0)]] | None = Field(
        None, min_length=1, description="a list of different whole numbers, for example [1, 2, 3]"
    )
    set: dict[str, Value] = Field({}, description=SCALAR)
    axes: dict[str, Values] = Field({}, description='a list of values, for example ["20ms", "40ms"]')
    linked: list[dict[str, Values]] = Field([], description="tables [[linked]] with lists of values")
    only: Matches = Field([], description='tables [[only]] with "KEY" = VALUE or "KEY" = [VALUES]')
    skip: Matches = Field([], description='tables [[skip]] with "KEY" = VALUE or "KEY" = [VALUES]')
    budget: dict[str, Annotated[tuple[str, str], BeforeValidator(_comparison)]] = Field(
        {}, description='a comparison, for example "<= 80ms" or "> 1mbit"'
    )
    plot: dict[str, PlotTable] = Field({}, description='a table, for example [plot.NAME] with kind = "heat"')
    detail: Matches = Field([], description='tables [[detail]] with "KEY" = VALUE or "KEY" = [VALUES]')


@dataclass(frozen=True)
class Plot:
    """A figure that the file asks for. `where` restricts it to a part of the grid."""

    name: str
    kind: str
    title: str
    metric: str | None
    x: str
    y: str | None
    colour: str | None
    panel: str | None
    less: str | None
    where: Match


@dataclass(frozen=True)
class Sweep:
    """A sweep file that has been read."""

    source: Source
    file: str
    name: str
    question: str
    base_file: str
    base_path: Path
    base_text: str
    base: _native.Scenario
    settings: Mapping[str, str]
    grid: Grid
    seeds: tuple[int, ...]
    budgets: tuple[Budget, ...]
    plots: tuple[Plot, ...]
    details: tuple[Match, ...]


def read(path_or_name: str | PathLike[str]) -> Sweep:
    """Read a sweep file, or a shipped sweep by its name."""
    path = library.find_sweep(fspath(path_or_name))
    source = Source(path, library.text_of(path))
    document = parse(source, Document, hint='a sweep is base = "SCENARIO.toml", then [axes] with "KEY" = [VALUES]')
    base_text, base_path = _base(source, document.base)
    base = _native.Scenario.parse(base_text, str(base_path), [])
    grid = _grid(source, document)
    return Sweep(
        source=source,
        file=fspath(path_or_name),
        name=document.name or path.stem,
        question=document.question or base.question,
        base_file=document.base,
        base_path=base_path,
        base_text=base_text,
        base=base,
        settings=document.set,
        grid=grid,
        seeds=_seeds(source, document, base.seed),
        budgets=tuple(Budget(metric, *bound) for metric, bound in document.budget.items()),
        plots=tuple(_plot(source, name, table, grid) for name, table in document.plot.items()),
        details=_matches(source, "detail", document.detail, grid),
    )


def _base(source: Source, base: str) -> tuple[str, Path]:
    """Return text and path of the base: a file beside the sweep, or a shipped scenario or household."""
    beside = source.path.parent / base
    if beside.is_file():
        return library.text_of(beside), beside
    try:
        return library.source(base)
    except ScenarioError as error:
        first, *rest = str(error).splitlines()
        names = [*library.shipped(), *library.households()]
        hint = next((line.partition("hint:")[2].strip() for line in rest if "hint:" in line), None)
        raise source.refuse(
            "base",
            first.rpartition(": ")[2],
            given=base,
            allowed=f"a path from {source.path.parent}, or one of {', '.join(names)}",
            hint=hint,
        ) from None


def _grid(source: Source, document: Document) -> Grid:
    axes = [_axis(source, "axes", {key: values}) for key, values in document.axes.items()]
    axes += [_axis(source, "linked", table) for table in document.linked]
    if not axes:
        raise source.refuse(
            "axes", "a sweep needs a key that varies", allowed='[axes] with, for example, "link.rtt" = ["20ms", "40ms"]'
        )
    seen: set[str] = set()
    for key in (key for axis in axes for key in axis.keys):
        if key == "seed":
            raise source.refuse(
                "axes.seed", "seeds cannot be an axis", hint="write seeds = [1, 2] or repeats = 2 instead"
            )
        if key in seen:
            raise source.refuse(f"axes.{key}", "this key is listed twice")
        seen.add(key)
    bare = Grid(tuple(axes))
    only, skip = (_matches(source, name, getattr(document, name), bare) for name in ("only", "skip"))
    grid = Grid(bare.axes, only, skip)
    if next(grid.cells(), None) is None:
        raise source.refuse("only" if only else "skip", "no combination is left", hint="remove one of the filters")
    return grid


def _axis(source: Source, table: str, lists: Mapping[str, Sequence[str]]) -> Axis:
    if not lists:
        raise source.refuse(table, "an axis needs at least one key")
    for key, values in lists.items():
        if table == "axes" and len(set(values)) < len(values):
            raise source.refuse(f"axes.{key}", "a value is listed twice", given=", ".join(values))
    if len({len(values) for values in lists.values()}) > 1:
        counts = ", ".join(f"{key} has {len(values)}" for key, values in lists.items())
        raise source.refuse(f"{table}.{next(iter(lists))}", "linked axes must have equally many values", given=counts)
    return Axis(tuple(lists), tuple(zip(*lists.values(), strict=True)))


def _matches(source: Source, name: str, tables: Matches, grid: Grid) -> tuple[Match, ...]:
    return tuple(_match(source, name, table, grid) for table in tables)


def _match(source: Source, name: str, table: Mapping[str, Sequence[str]], grid: Grid) -> Match:
    for key, wanted in table.items():
        place = f"{name}.{key}"
        if key not in grid.keys:
            raise source.unknown(place, key, grid.keys, "no axis varies this key")
        for value in wanted:
            if value not in grid.values(key):
                raise source.refuse(
                    place,
                    "the axis has no such value",
                    given=value,
                    allowed=", ".join(grid.values(key)),
                    hint=nearest(value, grid.values(key)),
                )
    return Match({key: tuple(wanted) for key, wanted in table.items()})


def _seeds(source: Source, document: Document, first: int) -> tuple[int, ...]:
    if document.seeds is None:
        return tuple(first + offset for offset in range(document.repeats or 1))
    if document.repeats is not None:
        raise source.refuse(
            "repeats", "give seeds or repeats, not both", hint="seeds lists the seeds; repeats counts up from `seed`"
        )
    if len(set(document.seeds)) < len(document.seeds):
        raise source.refuse("seeds", "the seeds must be different", given=document.seeds)
    return tuple(document.seeds)


def _plot(source: Source, name: str, table: PlotTable, grid: Grid) -> Plot:
    for key in ("x", "y", "colour", "panel", "less"):
        axis = getattr(table, key)
        if axis is not None and axis not in grid.keys:
            raise source.unknown(f"plot.{name}.{key}", axis, grid.keys, "no axis varies this key")
    if table.kind == "heat" and table.y is None:
        raise source.refuse(f"plot.{name}.y", "a heat map needs a second axis", allowed=", ".join(grid.keys))
    words = table.model_dump(exclude={"where", "title"})
    where = _match(source, f"plot.{name}.where", table.where, grid)
    return Plot(name=name, title=table.title or name, where=where, **words)
