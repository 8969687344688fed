"""Record files of `gamelane-traffic`, packet by packet (crates/generator/src/record.rs)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

RECORD = np.dtype(
    [
        ("what", "u1"),
        ("direction", "u1"),
        ("flow", "<u2"),
        ("payload", "<u4"),
        ("session", "<u8"),
        ("number", "<u4"),
        ("_", "<u4"),
        ("at_ns", "<u8"),
        ("value_ns", "<u8"),
    ]
)
SENT, RECEIVED, DUPLICATE, ROUND_TRIP = range(4)

Records = npt.NDArray[Any]


class Match(NamedTuple):
    """Records of both ends of a match."""

    client: Records
    server: Records


def read(client: Path, server: Path) -> Match:
    ours, theirs = (np.frombuffer(path.read_bytes(), dtype=RECORD) for path in (client, server))
    return Match(ours, theirs[np.isin(theirs["session"], np.unique(ours["session"]))])
