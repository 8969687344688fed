"""Phases of a foreign measurement, from the times in which its loads ran."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gamelane.foreign.measurement import Direction, Floats, Load

DRAIN_S = 0.5
"""Time after a load in which the queue may still drain; it belongs to no phase."""
SHORTEST_S = 1.0
Span = tuple[str, float, float]


def spans(probed: Floats | None, loads: Sequence[Load], start: float, length: float) -> list[Span]:
    """Return name, start and end of each phase in seconds after `start`, in order of time.

    Of several times with the same loads the longest counts. Where a load may or may not have run, there is no phase.
    """
    surely, maybe = [], []
    for load in loads:
        begins, ends = load.starts_s - start, float(load.ends_s[-1]) - start
        surely.append((load.direction, begins + load.uncertain_s, ends - load.uncertain_s))
        maybe.append((load.direction, begins - load.uncertain_s, ends + load.uncertain_s + DRAIN_S))
    edges = sorted({0.0, length, *(edge for _, *both in (*surely, *maybe) for edge in both if 0 < edge < length)})
    pieces: list[Span] = []
    for begins, ends in pairwise(edges):
        middle = (begins + ends) / 2
        sure, possible = ({way for way, a, b in these if a <= middle <= b} for these in (surely, maybe))
        name = _name(sure) if sure == possible else ""
        if pieces and pieces[-1][0] == name:
            pieces[-1] = (name, pieces[-1][1], ends)
        else:
            pieces.append((name, begins, ends))
    found: dict[str, Span] = {}
    for name, begins, ends in pieces:
        if name == "idle" and (probed is None or not ((probed >= begins) & (probed < ends)).any()):
            continue
        longest = found.get(name)
        if name and ends - begins >= SHORTEST_S and (longest is None or ends - begins > longest[2] - longest[1]):
            found[name] = (name, begins, ends)
    return sorted(found.values(), key=lambda span: span[1])


def _name(ways: set[Direction]) -> str:
    return "both" if len(ways) > 1 else next(iter(ways), "idle")
