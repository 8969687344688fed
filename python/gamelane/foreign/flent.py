"""Reads `.flent` and `.flent.gz` (version 4): the first series of round trips, and all uploads and downloads of TCP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AwareDatetime, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from gamelane.errors import RecordsError
from gamelane.foreign.measurement import Direction, Floats, Load, Measurement, Probes
from gamelane.foreign.reading import MOST, Milliseconds, Seconds, parse, valid

REMEDY = "flent rrul -H HOST, which writes a .flent.gz"
PING = "Ping (ms)"
SMOOTHED_S = 0.5
"""A rate is the mean of up to a second, so a load may begin or end half a second later or earlier."""
PAUSE_S = 1.0
"""A longer time without bytes ends a load."""
PAYLOAD = 64
"""Bytes of a probe; the file does not say."""
UP: Direction = "up"
DOWN: Direction = "down"
MADE = re.compile(r" (sum|avg)$|::")
"""Round trips that are made of others."""
LOAD = re.compile(r"(?:TCP |load-\S+ )(upload|download)(?! (?:sum|avg)$)(?: [^:]*)?(?:::\d+)?")
"""A load of flent, or of gamelane's own files: `TCP upload`, `TCP download BE`, `TCP upload::2`, `load-up upload`."""


@dataclass
class _Metadata:
    T0: AwareDatetime
    HOST: str


Values = Annotated[list[Milliseconds | None], Field(max_length=MOST)]


@dataclass
class _File:
    x_values: Annotated[list[Seconds], Field(min_length=2, max_length=MOST)]
    results: dict[str, Values]
    raw_values: dict[str, Any]
    metadata: _Metadata


@dataclass
class _Sample:
    t: Seconds
    val: Milliseconds | None = None
    owd_up: Milliseconds | None = None
    owd_down: Milliseconds | None = None


_FILE = TypeAdapter(_File)
_SAMPLES = TypeAdapter(Annotated[list[_Sample], Field(max_length=MOST)])


def measurement(file: Path, raw: bytes) -> Measurement:
    """Return the content of a file."""
    found = parse(file, raw, _FILE, REMEDY)
    axis = np.array(found.x_values)
    if (np.diff(axis) <= 0).any():
        raise RecordsError(f"{file}: `x_values` must increase\n  hint:    make it with: {REMEDY}")
    for name, values in found.results.items():
        if len(values) != len(axis):
            raise RecordsError(
                f"{file}: `results.{name[:60]}` has {len(values)} values, `x_values` {len(axis)}\n"
                f"  hint:    make it with: {REMEDY}"
            )
    zero = max(found.metadata.T0.timestamp(), 0.0)
    loads = tuple(_loads(found, zero + axis))
    pings = [name for name in found.results if name.startswith(PING) and not MADE.search(name)]
    probes = _probes(file, pings[0], found.raw_values.get(pings[0])) if pings else None
    notes = [f"{file}: flent does not say which packets were lost"]
    if len(pings) > 1:
        notes.append(f"{file}: round trips are those of `{pings[0]}`; left out: {', '.join(pings[1:])}")
    return Measurement(file, "flent", found.metadata.HOST, probes, loads, tuple(notes))


def _loads(found: _File, axis: Floats) -> list[Load]:
    step = float(np.median(np.diff(axis)))
    loads = []
    for name, values in found.results.items():
        named = LOAD.fullmatch(name)
        rates = np.array([max(value or 0.0, 0.0) for value in values])
        there = np.flatnonzero(rates > 0)
        if named is None or not len(there):
            continue
        direction = UP if named[1] == "upload" else DOWN
        for own in np.split(there, np.flatnonzero(np.diff(axis[there]) > PAUSE_S) + 1):
            octets = rates[own] * 1e6 / 8 * step
            starts = max(float(axis[own[0]]) - step / 2, 0.0)
            loads.append(Load(direction, axis[own] + step / 2, starts, octets, SMOOTHED_S, 1))
    return loads


def _probes(file: Path, name: str, raw: Any) -> Probes | None:
    samples = [each for each in valid(file, raw, _SAMPLES, REMEDY, f"raw_values.{name}") if (each.val or -1) >= 0]
    if not samples:
        return None

    def column(key: str) -> Floats:
        return np.array([np.nan if (value := getattr(each, key)) is None else value for each in samples], dtype=float)

    trips = column("val")
    # `t` is the time at which the answer arrived.
    sent = np.maximum(column("t") - trips / 1e3, 0)
    arrived = np.full(len(samples), fill_value=True)
    return Probes(sent, trips, column("owd_up"), column("owd_down"), arrived, False, PAYLOAD, False)
