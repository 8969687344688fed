"""How a group of flows fares behind a gateway: one word and one number.

Flows of one preset are a group, and the worst of them speaks for it. Numbers are means over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from gamelane import _native
from gamelane.analysis.quality import GRADES
from gamelane.catalogue import group
from gamelane.sweep.metrics import UnknownMetric, find
from gamelane.sweep.records import Cell, SweepRecords


class Grade(IntEnum):
    """How an application fares; higher is worse."""

    GOOD = 0
    PLAYABLE = 1
    DEGRADED = 2
    UNPLAYABLE = 3

    @property
    def word(self) -> str:
        """Return the word of tables and pictures."""
        return GRADES[self]


LOSS = (0.01, 0.03, 0.1)
"""Limits of a game's and a video call's loss (docs/models/quality.md)."""
RATING = (80.0, 70.0, 60.0)
"""Ratings of a call: users are satisfied, some dissatisfied, many dissatisfied (ITU-T G.107, annex B)."""
STALLED = (0.002, 0.01, 0.05)
"""Limits of the share of the time that a video stands still (our choice)."""
USUAL_MS = (50, 100, 150)
"""Round trips of a game whose model has no limits of its own (docs/models/quality.md)."""


@dataclass(frozen=True)
class Group:
    """Flows of one preset. `kind` is the group of its application."""

    title: str
    kind: str
    app: str
    flows: tuple[str, ...]
    limits_ms: tuple[int, int, int]


@dataclass(frozen=True)
class Verdict:
    """A grade with the number behind it: ms of a game, rating of a call, share of a video, bit/s of a transfer."""

    grade: Grade | None
    number: float
    loss: float = 0.0


def groups(scenario: _native.Scenario) -> list[Group]:
    """Return the groups of a scenario, in the order of their first flows."""
    quality = {model["title"]: model["quality"] for model in _native.models()}
    found: dict[str, list[_native.FlowDescription]] = {}
    for flow in scenario.flows():
        found.setdefault(flow["label"], []).append(flow)
    made = []
    for label, flows in found.items():
        title = label.rpartition(", ")[0] if label.endswith(" players") else label
        limits = quality.get(title)
        made.append(
            Group(
                title,
                group(flows[0]["app"]),
                flows[0]["app"],
                tuple(flow["name"] for flow in flows),
                (limits["good_ms"], limits["playable_ms"], limits["bad_ms"]) if limits else USUAL_MS,
            )
        )
    return made


def verdict(records: SweepRecords, cell: Cell, of: Group, seconds: float) -> Verdict:
    """Judge a group in a cell. `seconds` is the time with statistics."""

    def each(metric: str) -> list[float]:
        return [value for flow in of.flows if (value := _mean(records, cell, metric.format(flow=flow))) is not None]

    loss = max(each("{flow}.loss"), default=0.0)
    if of.kind == "game":
        delay = "p99({flow}.delivery)" if of.app == "mmo" else "p99({flow}.rtt)"
        late = max(each(delay), default=float("inf"))
        own = _grade(late, of.limits_ms)
        return Verdict(own if of.app == "mmo" else max(own, _grade(loss, LOSS)), late, loss)
    if of.kind == "call":
        rating = min(each("e_model({flow})"), default=0.0)
        return Verdict(_grade(-rating, tuple(-limit for limit in RATING)), rating, loss)
    if of.kind == "video":
        stalled = max(each("{flow}.stall"), default=seconds) / seconds
        return Verdict(_grade(stalled, STALLED), stalled, loss)
    if of.kind == "web":
        return Verdict(None, max(each("p50({flow}.transfer)"), default=float("nan")), loss)
    if of.app == "udp":
        return Verdict(_grade(loss, LOSS), loss, loss)
    return Verdict(None, sum(each("{flow}.goodput")), loss)


def worst(verdicts: Sequence[Verdict]) -> Grade:
    """Return the worst grade."""
    return max((one.grade for one in verdicts if one.grade is not None), default=Grade.GOOD)


def _mean(records: SweepRecords, cell: Cell, metric: str) -> float | None:
    try:
        return cell.estimate(find(metric, records.metrics)).mean
    except UnknownMetric:
        return None


def _grade(value: float, limits: Sequence[float]) -> Grade:
    return Grade(sum(not value <= limit for limit in limits))
