"""A sweep file: which keys of which scenario vary, over which seeds, within which budgets, and what to plot of it.

docs/sweep.md describes the format. Everything that can be told from the file alone is refused here; what needs the
scenario (keys that are none, metrics that are none) is refused by `plan`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from gamelane import _native, library
from gamelane.errors import ScenarioError
from gamelane.sweep.axes import Axis, Grid, Match, written
from gamelane.sweep.refusal import Source, SweepError, nearest

TOP = (
    "base",
    "name",
    "question",
    "repeats",
    "seeds",
    "set",
    "axes",
    "linked",
    "only",
    "skip",
    "budget",
    "plot",
    "detail",
)
KINDS = ("heat", "box", "line")
PLOT = ("kind", "title", "x", "y", "metric", "colour", "panel", "less", "where")
COMPARISON = re.compile(r"\s*(<=|<|>=|>)\s*(\S.*?)\s*")


@dataclass(frozen=True)
class Budget:
    """A bound on a metric, as written: `p99(quake3.rtt)`, `<=`, `80ms`."""

    metric: str
    operator: str
    bound: str

    @property
    def text(self) -> str:
        """As a reader wants it: `p99(quake3.rtt) <= 80ms`."""
        return f"{self.metric} {self.operator} {self.bound}"


@dataclass(frozen=True)
class Plot:
    """A figure the file asks for. `where` narrows it to a part of the grid."""

    name: str
    kind: str
    title: str
    metric: str | None
    x: str | None
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
    text = library.text_of(path)
    source = Source(path, text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SweepError(
            f"{path}: this is not TOML: {error}\n"
            '  hint:    a sweep is base = "SCENARIO.toml", then [axes] with "KEY" = [VALUES]'
        ) from None
    for key in document:
        if key not in TOP:
            raise source.unknown(key, key, TOP)
    base_file, base_path = _base(source, document.get("base"))
    base_text = library.text_of(base_path)
    base = _native.Scenario.parse(base_text, str(base_path), [])
    grid = _grid(source, document)
    return Sweep(
        source=source,
        file=fspath(path_or_name),
        name=_text(source, document, "name") or path.stem,
        question=_text(source, document, "question") or base.question,
        base_file=base_file,
        base_path=base_path,
        base_text=base_text,
        base=base,
        settings={key: _scalar(source, f"set.{key}", value) for key, value in _table(source, document, "set").items()},
        grid=grid,
        seeds=_seeds(source, document, base.seed),
        budgets=tuple(_budget(source, key, value) for key, value in _table(source, document, "budget").items()),
        plots=tuple(_plot(source, name, value, grid) for name, value in _table(source, document, "plot").items()),
        details=_matches(source, document, "detail", grid),
    )


def _base(source: Source, base: Any) -> tuple[str, Path]:
    if base is None:
        raise source.refuse(
            "base", "this key is required", allowed="a path to a scenario, or the name of a shipped one"
        )
    if not isinstance(base, str):
        raise source.refuse("base", "this takes text", given=base, allowed='base = "household.toml"')
    beside = source.path.parent / base
    if beside.is_file():
        return base, beside
    try:
        return base, library.find(base)
    except ScenarioError as error:
        first, *rest = str(error).splitlines()
        hint = next((line.partition("hint:")[2].strip() for line in rest if "hint:" in line), None)
        raise source.refuse(
            "base",
            first.rpartition(": ")[2],
            given=base,
            allowed=f"a path from {source.path.parent}, or one of {', '.join(library.shipped())}",
            hint=hint,
        ) from None


def _grid(source: Source, document: Mapping[str, Any]) -> Grid:
    axes = [_axis(source, "axes", {key: values}) for key, values in _table(source, document, "axes").items()]
    axes += [_axis(source, "linked", table) for table in _tables(source, document, "linked")]
    if not axes:
        raise source.refuse(
            "axes", "a sweep needs a key to vary", allowed='[axes] with, say, "link.rtt" = ["20ms", "40ms"]'
        )
    seen: set[str] = set()
    for key in (key for axis in axes for key in axis.keys):
        if key in seen or key == "seed":
            message = "this key varies twice" if key in seen else "seeds are no axis"
            raise source.refuse(
                f"axes.{key}", message, hint="write seeds = [1, 2] or repeats = 2" if key == "seed" else None
            )
        seen.add(key)
    bare = Grid(tuple(axes))
    grid = Grid(bare.axes, _matches(source, document, "only", bare), _matches(source, document, "skip", bare))
    if next(grid.cells(), None) is None:
        filters = [name for name in ("only", "skip") if name in document]
        raise source.refuse(filters[0], "the filters leave no combination", hint="take one of them out")
    return grid


def _axis(source: Source, table: str, keys: Mapping[str, Any]) -> Axis:
    if not keys:
        raise source.refuse(table, "an axis names at least one key")
    lists: dict[str, list[str]] = {}
    for key, values in keys.items():
        place = f"{table}.{key}"
        if isinstance(values, Mapping):
            raise source.refuse(place, "this takes a list of values", hint=f'quote the dotted key: "{key}.…" = […]')
        if not isinstance(values, list) or not values:
            raise source.refuse(place, "this takes a list of values", given=values, allowed='["20ms", "40ms"]')
        lists[key] = [_scalar(source, place, value) for value in values]
        if table == "axes" and len(set(lists[key])) < len(values):
            raise source.refuse(place, "a value stands there twice", given=", ".join(lists[key]))
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise source.refuse(
            f"{table}.{next(iter(lists))}", "linked axes move together, so they are equally long", given=counts
        )
    return Axis(tuple(lists), tuple(zip(*lists.values(), strict=True)))


def _matches(source: Source, document: Mapping[str, Any], name: str, grid: Grid) -> tuple[Match, ...]:
    return tuple(_match(source, name, table, grid) for table in _tables(source, document, name))


def _match(source: Source, name: str, table: Mapping[str, Any], grid: Grid) -> Match:
    values: dict[str, tuple[str, ...]] = {}
    for key, given in table.items():
        place = f"{name}.{key}"
        if key not in grid.keys:
            raise source.unknown(place, key, grid.keys, "no axis varies this key")
        wanted = [_scalar(source, place, value) for value in (given if isinstance(given, list) else [given])]
        for value in wanted:
            if value not in grid.values(key):
                raise source.refuse(
                    place,
                    "the axis has no such value",
                    given=value,
                    allowed=", ".join(grid.values(key)),
                    hint=nearest(value, grid.values(key)),
                )
        values[key] = tuple(wanted)
    return Match(values)


def _seeds(source: Source, document: Mapping[str, Any], first: int) -> tuple[int, ...]:
    repeats, seeds = document.get("repeats"), document.get("seeds")
    if seeds is not None and repeats is not None:
        raise source.refuse(
            "repeats", "give seeds or repeats, not both", hint="seeds are exactly those; repeats count up"
        )
    if seeds is not None:
        whole = isinstance(seeds, list) and seeds and all(_whole(seed, 0) for seed in seeds)
        if not whole or len(set(seeds)) < len(seeds):
            raise source.refuse("seeds", "this takes different whole numbers", given=seeds, allowed="[1, 2, 3]")
        return tuple(seeds)
    if repeats is not None and not _whole(repeats, 1):
        raise source.refuse("repeats", "this takes a whole number, 1 or more", given=repeats)
    return tuple(first + offset for offset in range(repeats or 1))


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _budget(source: Source, metric: str, value: Any) -> Budget:
    found = COMPARISON.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise source.refuse(f"budget.{metric}", "this is no bound", given=value, allowed='"<= 80ms", "> 1mbit"')
    return Budget(metric, found[1], found[2])


def _plot(source: Source, name: str, table: Any, grid: Grid) -> Plot:
    if not isinstance(table, Mapping):
        raise source.refuse(
            f"plot.{name}", "this takes a table", given=table, allowed=f'[plot.{name}] with kind = "heat"'
        )
    for key in table:
        if key not in PLOT:
            raise source.unknown(f"plot.{name}.{key}", key, PLOT)
    kind = table.get("kind", "line")
    if kind not in KINDS:
        raise source.unknown(f"plot.{name}.kind", str(kind), KINDS, "there is no such kind of plot")
    for key in ("x", "y", "colour", "panel", "less"):
        axis = table.get(key)
        if axis is not None and axis not in grid.keys:
            raise source.unknown(f"plot.{name}.{key}", str(axis), grid.keys, "no axis varies this key")
    if table.get("x") is None:
        raise source.refuse(f"plot.{name}.x", "this key is required", allowed=", ".join(grid.keys))
    if kind == "heat" and table.get("y") is None:
        raise source.refuse(f"plot.{name}.y", "a heat map has two axes", allowed=", ".join(grid.keys))
    where = table.get("where", {})
    if not isinstance(where, Mapping):
        raise source.refuse(f"plot.{name}.where", "this takes a table", given=where, allowed='{ "KEY" = "VALUE" }')
    words = {key: None if table.get(key) is None else str(table[key]) for key in PLOT if key != "where"}
    return Plot(
        name=name,
        kind=kind,
        title=words["title"] or name,
        metric=words["metric"],
        x=words["x"],
        y=words["y"],
        colour=words["colour"],
        panel=words["panel"],
        less=words["less"],
        where=_match(source, f"plot.{name}.where", where, grid),
    )


def _text(source: Source, document: Mapping[str, Any], key: str) -> str:
    value = document.get(key, "")
    if not isinstance(value, str):
        raise source.refuse(key, "this takes text", given=value)
    return value


def _table(source: Source, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, Mapping):
        raise source.refuse(key, "this takes a table", given=value, allowed=f"[{key}]")
    return value


def _tables(source: Source, document: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(table, Mapping) for table in value):
        raise source.refuse(key, "this takes tables", given=None, allowed=f"[[{key}]]")
    return value


def _scalar(source: Source, key: str, value: Any) -> str:
    if isinstance(value, Mapping) and key.startswith("set."):
        raise source.refuse(key, "this takes one value", hint='quote the dotted key: "link.rtt" = "40ms"')
    if not isinstance(value, (str, int, float, bool)):
        raise source.refuse(
            key, "a value is text, a number, true or false", given=value, hint="put a list or table into quotes"
        )
    return written(value)
