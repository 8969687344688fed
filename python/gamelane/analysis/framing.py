"""What each packet takes on a measured line in addition to its IP bytes.

While both directions are loaded, ACKs share a direction with data. So it carries more packets, and fewer bytes: those
that the additional packets took.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from gamelane.analysis.line import DOWN, UP, Span, within
from gamelane.analysis.sender import FEWEST_WINDOWS, WINDOW_S, Floats, Sender, windows_of
from gamelane.analysis.stats import Z95

MOST_FRAMING = 128
"""Bytes. If packets seem to take more than this, both directions share the medium, or something else limits them."""
VAGUE_FRAMING = 30
"""Bytes. An estimate that may be so far off, or is so far below 0, says nothing."""
UNSEEN = 1e-3
"""Share of a rate that may be wrong, however little its windows differ."""


def framing(senders: Mapping[int, Sender], times: Mapping[str, Span]) -> tuple[float, float] | None:
    """Return the bytes of framing of each packet, and how far off they may be; None if the load does not show them.

    `times` has the phases. Both directions are supposed to have the same framing.
    """
    both = times.get("both")
    if both is None:
        return None
    found = []
    for way in (UP, DOWN):
        of, other = senders[way], senders[1 - way]
        found.append(_per_packet(_carried(of, other, times[of.phase]), _carried(of, other, both)))
    # The direction with more ACKs for its data shows it best.
    _, value, half = max(found)
    if half > VAGUE_FRAMING or not -VAGUE_FRAMING <= value <= MOST_FRAMING:
        return None
    return value, half


def _per_packet(alone: Floats, shared: Floats) -> tuple[float, float, float]:
    """Return the share of ACKs, the bytes that each packet takes in addition, and how far off they may be."""
    nothing = 0.0, 0.0, math.inf
    if len(alone) < FEWEST_WINDOWS:
        return nothing
    packets, bytes_ = np.median(alone, axis=0)
    shared = shared[shared[:, 0] > packets]
    if len(shared) < FEWEST_WINDOWS:
        return nothing
    each = (bytes_ - shared[:, 1]) / (shared[:, 0] - packets)
    more = float(np.median(shared[:, 0])) - packets
    half = Z95 * math.hypot(_error(each), _error(alone[:, 1]) / more) + UNSEEN * bytes_ / more
    return float(more / packets), float(np.median(each)), float(half)


def _carried(of: Sender, other: Sender, span: Span) -> Floats:
    """Return packets and IP bytes per second in each window in which packets waited, ACKs included.

    What was read counts. The sender learns of it later, by ACKs that wait in the other direction's queue. Repairs of a
    loss hold reads up, so some windows are wrong.
    """
    grid = np.arange(*span, int(WINDOW_S * 1e9)) / 1e9
    stamped = np.sort(within(of.stamped, span), order="at")
    if len(grid) < 2 or not len(stamped):
        return np.empty((0, 2))
    packets, bytes_ = np.sum((of.read(grid, span), of.probes(grid, span), other.acks(grid, span)), axis=0)
    added = stamped["value"] / 1e6 - float(np.min(of.stamped["value"])) / 1e6
    rates, busy = windows_of(grid, bytes_, stamped["at"] / 1e9, added)
    counts = (np.diff(packets) / np.diff(grid))[-len(busy) :]
    found: Floats = np.column_stack((counts, rates / 8))[busy]
    return found


def _error(of: Floats) -> float:
    """Return the standard error of a median, from the median absolute deviation, as of a normal distribution."""
    deviation, of_median = 1.4826, math.sqrt(math.pi / 2)
    return of_median * deviation * float(np.median(np.abs(of - np.median(of)))) / math.sqrt(len(of))
