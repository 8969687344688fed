"""Reads the text of `netperf -D 0.5 -t TCP_STREAM|TCP_MAERTS` 2.7, built with `--enable-demo`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from gamelane.errors import RecordsError
from gamelane.foreign.measurement import Direction, Load, Measurement
from gamelane.foreign.reading import MOST

REMEDY = "netperf -H HOST -t TCP_STREAM -D 0.5 -f m > FILE"
TITLE = re.compile(r"TCP (STREAM|MAERTS) TEST[^\n]{0,200}? to ([^\s(]{1,255})")
INTERIM = re.compile(
    r"Interim result: {1,9}(\d{1,12}\.\d{1,6}) (10\^[369]bits|[KMG]?Bytes)/s over (\d{1,6}\.\d{1,6}) seconds "
    r"ending at (\d{1,10}\.\d{1,9})"
)
OCTETS = {
    "10^3bits": 1e3 / 8, "10^6bits": 1e6 / 8, "10^9bits": 1e9 / 8,
    "Bytes": 1, "KBytes": 1 << 10, "MBytes": 1 << 20, "GBytes": 1 << 30,
}  # fmt: skip
"""Bytes of a unit of netperf's `-f`."""


def measurement(file: Path, raw: bytes) -> Measurement:
    """Return the content of a file."""
    text = raw.decode("utf-8", "replace")
    title = TITLE.search(text)
    lines = INTERIM.findall(text)[:MOST]
    if title is None or not lines:
        missing = "title `TCP STREAM TEST` or `TCP MAERTS TEST`" if title is None else "line `Interim result: …`"
        raise RecordsError(f"{file}: no {missing}\n  hint:    make it with: {REMEDY}")
    seconds = np.array([float(each[2]) for each in lines])
    ends = np.maximum.accumulate(np.array([float(each[3]) for each in lines]))
    rates = np.array([float(each[0]) * OCTETS[each[1]] for each in lines])
    direction: Direction = "up" if title[1] == "STREAM" else "down"
    load = Load(direction, ends, float(max(ends[0] - seconds[0], 0)), rates * seconds, 0.0, 1)
    return Measurement(file, "netperf", title[2], None, (load,))
