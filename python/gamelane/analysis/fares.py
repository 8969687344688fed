"""How each application of a household fares: the numbers that tell, and a grade where there are limits.

Flows with one label are a group, and the worst of them speaks for it. Transfers of a group are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from gamelane import _native
from gamelane.analysis.metrics import Metric, Row, UnknownMetric, find
from gamelane.analysis.quality import GRADES
from gamelane.catalogue import MMO, group


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

    @property
    def mark(self) -> str:
        """Return the sign before a number; empty for a number that is good or playable."""
        return ("", "", "▲ ", "✖ ")[self]


LOSS = (1.0, 3.0, 10.0)
"""Limits of a game's and a video call's loss, % (docs/models/quality.md)."""
RATING = (80.0, 70.0, 60.0)
"""Ratings of a call: users are satisfied, some dissatisfied, many dissatisfied (ITU-T G.107, annex B)."""
STALLED = (0.2, 1.0, 5.0)
"""Limits of the share of the time that a video stands still, % (our choice)."""
USUAL_MS = (50.0, 100.0, 150.0)
"""Round trips of a game whose model has no limits of its own (docs/models/quality.md)."""


@dataclass(frozen=True)
class Figure:
    """A number that tells how an application fares. `metric` has `{flow}` for the name of a flow.

    Without limits there is no grade. Limits that fall are those of a number of which more is better.
    """

    heading: str
    unit: str
    metric: str
    scale: float
    limits: tuple[float, ...] = ()
    combine: Callable[[Iterable[float]], float] = max
    only_from: float | None = None
    """Tables leave it out if it is below this everywhere."""

    def of(self, row: Row, metrics: Mapping[str, Metric], flows: Sequence[str]) -> float | None:
        """Return its value for one run; None if no flow has one."""
        known = []
        for flow in flows:
            try:
                value = find(self.metric.format(flow=flow), metrics).of(row)
            except UnknownMetric:
                continue
            if value is not None:
                known.append(value * self.scale)
        return self.combine(known) if known else None

    def grade(self, value: float | None) -> Grade | None:
        """Return the grade of a value. Nothing arrived without a value."""
        if not self.limits:
            return None
        if value is None:
            return Grade.UNPLAYABLE
        sign = 1 if self.limits[0] < self.limits[-1] else -1
        return Grade(sum(not sign * value <= sign * limit for limit in self.limits))


GOODPUT = Figure("goodput", "Mbit/s", "{flow}.goodput", 1e-6, combine=sum)


@dataclass(frozen=True)
class Application:
    """Flows with one label, and the figures that tell how they fare, the first of them above all."""

    title: str
    kind: str
    flows: tuple[str, ...]
    figures: tuple[Figure, ...]

    @property
    def name(self) -> str:
        """Return the name of its first flow, and how many there are."""
        return self.flows[0] if len(self.flows) == 1 else f"{self.flows[0]} ({len(self.flows)})"


def applications(flows: Iterable[tuple[str, str, str]], seconds: float) -> list[Application]:
    """Return the applications of flows (name, word of the application, label), in the order of their first flows.

    `seconds` is the time with statistics.
    """
    quality = {model["title"]: model["quality"] for model in _native.models()}
    found: dict[str, list[tuple[str, str]]] = {}
    for name, app, label in flows:
        title = label.removesuffix(" [estimate]")
        found.setdefault(title, []).append((name, app))
    made = []
    for label, members in found.items():
        title = label.rpartition(", ")[0] if label.endswith(" players") else label
        limits = quality.get(title)
        own = (limits["good_ms"], limits["playable_ms"], limits["bad_ms"]) if limits else USUAL_MS
        app = members[0][1]
        names = tuple(name for name, _ in members)
        made.append(Application(title, group(app), names, _figures(app, own, len(names), seconds)))
    return made


def _figures(app: str, limits_ms: tuple[float, ...], count: int, seconds: float) -> tuple[Figure, ...]:
    kind = group(app)
    if app == MMO:
        return (Figure("to the player 99 %", "ms", "p99({flow}.thin.down.delivery)", 1, limits_ms),)
    if kind == "game":
        trip = Figure("round trip 99 %", "ms", "p99({flow}.rtt)", 1, limits_ms)
        return trip, Figure("lost", "%", "{flow}.loss", 100, LOSS, only_from=0.1)
    if kind == "call":
        return (Figure("rating of the call", "of 100", "e_model({flow})", 1, RATING, min),)
    if kind == "video":
        return (Figure("stands still", "% of the time", "{flow}.stall", 100 / seconds, STALLED),)
    if kind == "web":
        return (Figure("page, median", "s", "p50({flow}.transfer)", 1e-3),)
    if app == "udp":
        return (Figure("lost", "%", "{flow}.loss", 100, LOSS),)
    return (replace(GOODPUT, heading="goodput, together") if count > 1 else GOODPUT,)


def worst(grades: Iterable[Grade | None]) -> Grade:
    """Return the worst grade."""
    return max((grade for grade in grades if grade is not None), default=Grade.GOOD)
