"""Overlays results from several engines or versions: the variants of all of them, in one `Results`.

Each variant appears once per source: `fifo (sim)`, `fifo (lab)`. Scenarios that differ, for example in a rate, are
refused with the keys that differ, unless the caller allows differences.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from gamelane.errors import UsageError
from gamelane.records.frames import TABLES
from gamelane.records.results import ALONE, Results, Source, Variant
from gamelane.records.store import MANIFEST, read

Given = str | PathLike[str] | Results

MOST = 4
"""Maximum number of sources: figures have four line styles."""

FREE = ("name", "question", "seed")
"""Keys of a scenario that may differ: text, and the seed of the random draws."""


def overlay(given: Sequence[Given] | Mapping[str, Given], *, allow_differences: bool = False) -> Results:
    """Overlay results, or folders that hold records. The first source is the one that others are compared with.

    Sources are named by engine (`sim`, `lab`, `live`). If engines are equal, the version is added; if that is equal
    too, the folder is the name. A mapping sets the names. Scenarios may differ in name, question and seed only; with
    `allow_differences`, each other key that differs becomes a caveat.
    """
    members = _members(given)
    differences = _differences(members)
    if differences and not allow_differences:
        raise UsageError("\n".join([*map(str, differences), HINT]))
    names = dict.fromkeys(name for member in members for name in member.variants)
    variants = [member.variants[name] for name in names for member in members if name in member.variants]
    whole = [member.results for member in members]
    return replace(
        whole[0],
        engine=" + ".join(dict.fromkeys(results.engine for results in whole)),
        duration_s=max(results.duration_s for results in whole),
        warmup_s=max(results.warmup_s for results in whole),
        variants=tuple(variants),
        planned_runs=sum(results.planned_runs for results in whole),
        frames=_frames(members, [variant.name for variant in variants]),
        command=(),
        sources=tuple(member.source for member in members),
        differences=tuple(map(str, differences)),
    )


HINT = "  hint:    run the same scenario with both, or add --allow-differences to overlay them anyway"


@dataclass(frozen=True)
class _Member:
    """One of the results to overlay."""

    source: Source
    results: Results

    @property
    def place(self) -> str:
        """The file or source that an error message names."""
        return str(Path(self.source.folder) / MANIFEST) if self.source.folder else self.source.name

    @property
    def variants(self) -> dict[str, Variant]:
        """Return the renamed variants by their original names."""
        source = self.source.name
        return {
            variant.name: replace(variant, name=_renamed(variant.name, source), source=source, own_name=variant.name)
            for variant in self.results.variants
        }


def _renamed(variant: str, source: str) -> str:
    return f"{variant} ({source})"


def _members(given: Sequence[Given] | Mapping[str, Given]) -> list[_Member]:
    values = list(given.values() if isinstance(given, Mapping) else given)
    if not 2 <= len(values) <= MOST:
        raise UsageError(f"{len(values)} results to overlay\n  allowed: 2 to {MOST}")
    folders = ["" if isinstance(value, Results) else os.fspath(value) for value in values]
    places = [Path(folder).resolve() for folder in folders if folder]
    for folder in filter(None, folders):
        if places.count(Path(folder).resolve()) > 1:
            raise UsageError(f"{folder}: given twice\n  hint:    overlay it with records of another engine or version")
    results = [value if isinstance(value, Results) else read(value) for value in values]
    for folder, of in zip(folders, results, strict=True):
        if of.sources:
            raise UsageError(
                f"{folder or of.name}: already an overlay of {' and '.join(source.name for source in of.sources)}\n"
                "  hint:    give the folders of the original records"
            )
    names = list(given) if isinstance(given, Mapping) else _names(results, folders)
    return [
        _Member(Source(name, of.engine, of.gamelane, folder, of.command, of.host), of)
        for name, of, folder in zip(names, results, folders, strict=True)
    ]


def _names(results: Sequence[Results], folders: Sequence[str]) -> list[str]:
    """Choose the first kind of name that differs between sources: engine, engine and version, folder, number."""
    tries = (
        [of.engine for of in results],
        [f"{of.engine} {of.gamelane}" for of in results],
        [Path(folder).resolve().name for folder in folders if folder],
    )
    numbered = [f"{of.engine} {position}" for position, of in enumerate(results, start=1)]
    return next((names for names in tries if len(set(names)) == len(results)), numbered)


@dataclass(frozen=True)
class _Difference:
    """A key of the scenario that differs between two members, and the variants in which it does."""

    members: tuple[_Member, _Member]
    key: str
    values: tuple[str, str]
    variants: tuple[str, ...]

    def __str__(self) -> str:
        own, other = self.members
        of = "" if self.variants == (ALONE,) else f" of {', '.join(self.variants)}"
        return f"{other.place}: {self.key}{of} is {self.values[1]}; in {own.place} it is {self.values[0]}"


def _differences(members: Sequence[_Member]) -> list[_Difference]:
    """Compare every member with the first, variant by variant."""
    first = members[0]
    found = []
    for member in members[1:]:
        common = [name for name in first.variants if name in member.variants]
        if not common:
            own, others = (", ".join(map(_spoken, of.variants)) for of in (member, first))
            raise UsageError(
                f"{member.place} has {own}, {first.place} has {others}: no variant is in both\n"
                "  hint:    run both with the same --compare and --variant"
            )
        where: dict[tuple[str, str, str], list[str]] = {}
        for name in common:
            for difference in _apart(*(tomllib.loads(of.variants[name].toml) for of in (first, member))):
                where.setdefault(difference, []).append(name)
        found += [
            _Difference((first, member), key, (own, other), tuple(variants))
            for (key, own, other), variants in where.items()
        ]
    return found


def _spoken(variant: str) -> str:
    return "no variants" if variant == ALONE else variant


def _apart(own: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield `(key, value here, value there)` where two scenarios differ."""
    flows = [{flow["name"]: flow for flow in of.get("flow", ())} for of in (own, other)]
    if flows[0].keys() != flows[1].keys():
        yield "flow", ", ".join(flows[0]), ", ".join(flows[1])
    common = flows[0].keys() & flows[1].keys()
    flat = [
        dict(_flat({**of, "flow": {name: named[name] for name in named if name in common}}))
        for of, named in zip((own, other), flows, strict=True)
    ]
    for key in dict.fromkeys((*flat[0], *flat[1])):
        if key not in FREE and flat[0].get(key) != flat[1].get(key):
            yield key, flat[0].get(key, "not set"), flat[1].get(key, "not set")


def _flat(of: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in of.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)


def _frames(members: Sequence[_Member], variants: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Concatenate the tables, with variants renamed and in order. Members need not have the same flows."""
    flows = dict.fromkeys(flow.name for member in members for flow in member.results.flows)
    return {
        table: pl.concat([_renumbered(member, table, variants, list(flows)) for member in members]).sort(
            "variant", maintain_order=True
        )
        for table in TABLES
    }


def _renumbered(member: _Member, table: str, variants: Sequence[str], flows: Sequence[str]) -> pl.DataFrame:
    frame = member.results.frames[table]
    names = {name: variant.name for name, variant in member.variants.items()}
    columns = [pl.col("variant").cast(pl.String).replace_strict(names, return_dtype=pl.String).cast(pl.Enum(variants))]
    if "flow" in frame.columns:
        columns.append(pl.col("flow").cast(pl.String).cast(pl.Enum(flows)))
    return frame.with_columns(columns)
