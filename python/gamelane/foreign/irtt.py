"""Reads `irtt client -o FILE` (irtt 0.9, `json_format` 1). Round trips do not contain the server's processing time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from gamelane.errors import RecordsError
from gamelane.foreign.measurement import Measurement, Probes
from gamelane.foreign.reading import MOST, Nanoseconds, parse

REMEDY = "irtt client -o FILE HOST"


@dataclass
class _Stamp:
    wall: Nanoseconds | None = None


@dataclass
class _Client:
    send: _Stamp


@dataclass
class _Stamps:
    client: _Client


@dataclass
class _Delay:
    rtt: Nanoseconds | None = None
    send: Nanoseconds | None = None
    receive: Nanoseconds | None = None


@dataclass
class _Trip:
    lost: Literal["false", "true", "true_up", "true_down"]
    timestamps: _Stamps
    delay: _Delay


@dataclass
class _Parameters:
    length: Annotated[int, Field(ge=0, le=65_507)]


@dataclass
class _Config:
    local_address: str
    remote_address: str
    params: _Parameters


@dataclass
class _File:
    config: _Config
    round_trips: Annotated[list[_Trip], Field(max_length=MOST)]


_FILE = TypeAdapter(_File)


def measurement(file: Path, raw: bytes) -> Measurement:
    """Return the content of a file."""
    found = parse(file, raw, _FILE, REMEDY)
    trips = [trip for trip in found.round_trips if trip.timestamps.client.send.wall is not None]
    if not trips:
        raise RecordsError(f"{file}: `round_trips` has no packet with a time\n  hint:    make it with: {REMEDY}")
    kept = [trip.lost == "false" for trip in trips]

    def delays(key: str) -> list[float]:
        values = (getattr(trip.delay, key) for trip in trips)
        return [
            math.nan if value is None or not arrived else value / 1e6
            for value, arrived in zip(values, kept, strict=True)
        ]

    own, other = (_address(text) for text in (found.config.local_address, found.config.remote_address))
    notes = []
    if any(trip.lost == "true" for trip in trips):
        notes.append(f"{file}: irtt does not say in which direction some packets were lost; they count as lost up")
    probes = Probes(
        sent_s=np.array([(trip.timestamps.client.send.wall or 0) / 1e9 for trip in trips]),
        rtt_ms=np.array(delays("rtt")),
        up_ms=np.array(delays("send")),
        down_ms=np.array(delays("receive")),
        arrived=np.array([trip.lost in ("false", "true_down") for trip in trips]),
        counts_losses=True,
        payload=found.config.params.length,
        one_clock=own == other,
    )
    return Measurement(file, "irtt", other, probes, (), tuple(notes))


def _address(text: str) -> str:
    return text.rpartition(":")[0].strip("[]") or text
