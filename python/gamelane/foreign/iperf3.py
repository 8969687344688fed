"""Reads `iperf3 -c HOST -J` over TCP, also with `-R`, `--bidir` and `--get-server-output`.

Its stamp has whole seconds. What it sends it counts too early, when TCP takes it. The server's output has what arrived.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from gamelane.errors import RecordsError
from gamelane.foreign.measurement import Load, Measurement
from gamelane.foreign.reading import MOST, Octets, Seconds, parse

REMEDY = "iperf3 -c HOST -J > FILE"
LONGEST_S = 3600.0
"""Longest interval of a server's output."""


@dataclass
class _Stamp:
    timesecs: Seconds


@dataclass
class _Peer:
    host: str


@dataclass
class _Test:
    protocol: str
    num_streams: Annotated[int, Field(ge=1, le=1000)]


@dataclass
class _Start:
    timestamp: _Stamp
    test_start: _Test
    connecting_to: _Peer


@dataclass
class _Sum:
    seconds: Seconds
    bytes: Octets
    sender: bool


@dataclass
class _Interval:
    sum: _Sum
    sum_bidir_reverse: _Sum | None = None


@dataclass
class _Failed:
    error: str | None = None


@dataclass
class _Server:
    intervals: Annotated[list[_Interval], Field(max_length=MOST)]


@dataclass
class _File:
    start: _Start
    intervals: Annotated[list[_Interval], Field(min_length=1, max_length=MOST)]
    server_output_text: str = ""
    server_output_json: _Server | None = None
    """Instead of the text, if the server runs with `-J`."""


_FILE, _FAILED = TypeAdapter(_File), TypeAdapter(_Failed)


def measurement(file: Path, raw: bytes) -> Measurement:
    """Return the content of a file."""
    failed = failure(file, raw)
    try:
        found = parse(file, raw, _FILE, REMEDY)
    except RecordsError:
        if failed:
            raise RecordsError(
                f"{file}: iperf3 failed: {failed[:200]}\n  hint:    make it again with: {REMEDY}"
            ) from None
        raise
    if found.start.test_start.protocol != "TCP":
        given = found.start.test_start.protocol[:20]
        raise RecordsError(
            f"{file}: `start.test_start.protocol`: {given}\n  allowed: TCP\n  hint:    make it with: {REMEDY}"
        )
    sums = [[each.sum for each in found.intervals]]
    back = [each.sum_bidir_reverse for each in found.intervals if each.sum_bidir_reverse is not None]
    if back:
        sums.append(back)
    arrived = _until(sum(each.seconds for each in sums[0]), _arrived(found))
    loads = tuple(_load(found.start, arrived if each[0].sender and arrived else each) for each in sums)
    notes = (f"{file}: iperf3 failed: {failed[:200]}",) if failed else ()
    return Measurement(file, "iperf3", found.start.connecting_to.host, None, loads, notes)


RECEIVED = re.compile(
    r"^\[ *(SUM|\d+)\](?:\[RX-S\])? +(\d+\.\d+)-(\d+\.\d+) +sec +"
    r"[\d.]+ [KMGT]?Bytes +(\d+(?:\.\d+)?) ([KMGT]?)bits/sec *$",
    re.MULTILINE,
)
"""An interval of a stream that the server received."""
PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def _arrived(of: _File) -> list[_Sum]:
    """Return the intervals of what the server received. Rates of its text have three digits."""
    if of.server_output_json is not None:
        both = [each for own in of.server_output_json.intervals for each in (own.sum, own.sum_bidir_reverse)]
        return [replace(each, sender=True) for each in both if each is not None and not each.sender]
    several = of.start.test_start.num_streams > 1
    found = []
    for which, begins, ends, rate, prefix in RECEIVED.findall(of.server_output_text):
        seconds = float(ends) - float(begins)
        if (which == "SUM") == several and 0 < seconds <= LONGEST_S:
            found.append(_Sum(seconds, float(rate) * PREFIX[prefix] * seconds / 8, sender=True))
    return found


def _until(seconds: float, arrived: list[_Sum]) -> list[_Sum]:
    """Leave out what came after the client's end: its last packets, and a wait for the server."""
    ends = np.cumsum([each.seconds for each in arrived])
    return [each for each, end in zip(arrived, ends, strict=True) if end - each.seconds / 2 < seconds]


def failure(file: Path, raw: bytes) -> str | None:
    """Return why iperf3 ended early, as it wrote it."""
    return parse(file, raw, _FAILED, REMEDY).error


def _load(start: _Start, sums: list[_Sum]) -> Load:
    # The second of the stamp has begun, so the middle of it is wrong by half a second at most.
    begins = start.timestamp.timesecs + 0.5
    return Load(
        direction="up" if sums[0].sender else "down",
        starts_s=begins,
        ends_s=begins + np.cumsum([each.seconds for each in sums]),
        octets=np.array([each.bytes for each in sums]),
        uncertain_s=0.5,
        streams=start.test_start.num_streams,
    )
