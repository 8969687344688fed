"""Settings that are known to work: always among the trials, and the first to be recommended among equals."""

from __future__ import annotations

from collections.abc import Sequence

from gamelane import _native
from gamelane.tune.parameters import QUEUE, SHAPE, Settings, Space
from gamelane.tune.space import shapes

SHARES = (0.95, 0.9, 0.85)
"""Shaped rates, as shares of the link's rates."""
FAIR: Settings = {QUEUE: "fq_codel"}
QUEUES: tuple[Settings, ...] = ({QUEUE: "cake"}, FAIR, {QUEUE: "cake", "gateway.*.acks": "filter"}, {QUEUE: "priority"})


def fair(scenario: _native.Scenario) -> Settings:
    """Return FQ-CoDel shaped to 95 % of the link: the reference for what is due to a flow."""
    return {**FAIR, **_shaped(shapes(scenario, SHARES[:1]))[0]}


def settings(scenario: _native.Scenario, space: Space) -> list[Settings]:
    """Return the known settings that the space has."""

    def beside(rates: Sequence[Settings]) -> list[Settings]:
        found = [{**queue, **space.required(queue), **rate} for rate in rates for queue in QUEUES]
        return [each for each in found if space.choices(each) is not None]

    return beside(_shaped(shapes(scenario, SHARES))) or beside([{}])


def around(space: Space, best: Settings) -> list[Settings]:
    """Return the settings that differ from `best` in the queue, with its defaults, or in the shaped rate."""
    queues, rates = (space.values(key) for key in (QUEUE, SHAPE))
    rate = {SHAPE: best[SHAPE]} if SHAPE in best else {}
    found = [{QUEUE: queue, **space.required({QUEUE: queue}), **rate} for queue in queues]
    found += [{**best, SHAPE: rate} for rate in rates]
    return [each for each in found if space.choices(each) is not None]


def _shaped(rates: Sequence[str]) -> list[Settings]:
    """Return a setting for each rate, or one without a shaper if the link has no fixed rate."""
    return [{SHAPE: rate} for rate in rates] or [{}]
