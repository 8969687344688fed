"""What a file of another program says: round trips of probes, and loads of TCP. Times are seconds of the Unix epoch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Direction = Literal["up", "down"]


@dataclass(frozen=True)
class Probes:
    """Packets that went there and back. All arrays have one value for each packet; NaN stands for unknown."""

    sent_s: Floats
    rtt_ms: Floats
    """NaN if the packet or its answer was lost."""
    up_ms: Floats
    """One-way delay, on clocks that may differ."""
    down_ms: Floats
    arrived: npt.NDArray[np.bool_]
    """Whether the packet arrived at the server."""
    counts_losses: bool
    """False if the file leaves out lost packets."""
    payload: int
    one_clock: bool


@dataclass(frozen=True)
class Load:
    """Bytes of TCP in one direction, in consecutive intervals."""

    direction: Direction
    ends_s: Floats
    """Ends of the intervals; the first one begins at `starts_s`."""
    starts_s: float
    octets: Floats
    uncertain_s: float
    """How much earlier or later all of it may have been."""
    streams: int


@dataclass(frozen=True)
class Measurement:
    """The content of one file."""

    file: Path
    program: str
    host: str
    probes: Probes | None
    loads: tuple[Load, ...]
    notes: tuple[str, ...] = ()
    """What the file does not say."""
