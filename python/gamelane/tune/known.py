"""Settings that are known to work: always among the trials, and the first to be recommended among equals."""

from __future__ import annotations

from collections.abc import Sequence

from gamelane import _native
from gamelane.tune.parameters import ACKS, QUEUE, SHAPE, Settings, Space, takes
from gamelane.tune.space import shapes

SHARES = (0.95, 0.9, 0.85)
"""Shaped rates, as shares of the link's rates."""
PLAIN = "plain"
"""How a queue handles ACKs unless it is told."""
FAIR: Settings = {QUEUE: "fq_codel"}
QUEUES: tuple[Settings, ...] = (
    {QUEUE: "cake"},
    FAIR,
    {QUEUE: "cake", ACKS: "filter"},
    {QUEUE: "priority"},
    {QUEUE: "htb", ACKS: "prioritise"},
)


def fair(scenario: _native.Scenario) -> Settings:
    """Return FQ-CoDel shaped to 95 % of the link: the reference for what is due to a flow.

    A scenario that does not take these rates keeps its own.
    """
    shaped = {**FAIR, **_shaped(shapes(scenario, SHARES[:1]))[0]}
    return shaped if takes(scenario, Space(()).overrides(scenario, shaped)) else FAIR


def settings(scenario: _native.Scenario, space: Space) -> list[Settings]:
    """Return the known settings that the space has."""

    def beside(rates: Sequence[Settings]) -> list[Settings]:
        found = [{**queue, **space.required(queue), **rate} for rate in rates for queue in QUEUES]
        return [each for each in found if space.choices(each) is not None]

    return beside(_shaped(shapes(scenario, SHARES))) or beside([{}])


def around(space: Space, best: Settings) -> list[Settings]:
    """Return the settings that differ from `best` in ACKs, rate, or queue with its defaults: the nearest first."""
    kinds, acks, rates = (space.values(key) for key in (QUEUE, ACKS, SHAPE))
    rate = {SHAPE: best[SHAPE]} if SHAPE in best else {}
    queues = [{QUEUE: kind, **space.required({QUEUE: kind})} for kind in kinds]
    own = {key: value for key, value in best.items() if key != SHAPE}
    handled = [of for of in acks if of != PLAIN]
    found = [{**{key: value for key, value in own.items() if key != ACKS}, **rate}]
    found += [{**own, ACKS: of, **rate} for of in handled]
    found += [{**best, SHAPE: other} for other in rates]
    found += [{**queue, **rate} for queue in queues]
    found += [{**queue, ACKS: of, **rate} for of in handled for queue in queues]
    once = [each for index, each in enumerate(found) if each not in found[:index]]
    return [each for each in once if space.choices(each) is not None]


def _shaped(rates: Sequence[str]) -> list[Settings]:
    """Return a setting for each rate, or one without a shaper if the link has no fixed rate."""
    return [{SHAPE: rate} for rate in rates] or [{}]
