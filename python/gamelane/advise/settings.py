"""Settings to try on a measured line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gamelane import _native
from gamelane.advise import household
from gamelane.analysis.bottleneck import Lane, Link
from gamelane.tune import known
from gamelane.tune.parameters import QUEUE, SHAPE, Parameter, Settings, Space
from gamelane.tune.space import shapes, shipped

AUTORATE = "gateway.autorate"
PRIORITY = "gateway.priority"
VARIED = (QUEUE, PRIORITY, "gateway.*.acks", SHAPE)
"""Keys that an advice varies. A queue keeps its own defaults, which suit more lines than the one that was measured."""
QUEUES = ("cake", "fq_codel", "priority")
FAIR = QUEUES[:2]
PERCENTILES = (10, 50)
"""Rates that a shaper may keep on a line whose rate wanders, as percentiles of its windows."""
SHARE = known.SHARES[0]


def space(scenario: _native.Scenario, link: Link) -> Space:
    """Return what may be set. On a line whose rate wanders these are a fixed rate, and a rate that follows the line."""
    if not (link.up.wanders or link.down.wanders):
        found = [parameter for parameter in shipped(scenario).parameters if parameter.key in VARIED]
        taken = {value for parameter in found if parameter.key == QUEUE for value in parameter.values}
        queues = tuple(queue for queue in QUEUES if queue in taken)
        only = {QUEUE: queues, SHAPE: tuple(shapes(scenario, known.SHARES))}
        places = tuple(replace(each, values=only.get(each.key, each.values)) for each in found)
        return Space(places, household.behind(link))
    rates = tuple(_rates([_kept(lane, share) for lane in (link.up, link.down)]) for share in PERCENTILES)
    parameters = (Parameter(QUEUE, FAIR), Parameter(SHAPE, rates), Parameter(AUTORATE, (_autorate(link), "false")))
    return Space(parameters, household.behind(link))


def first(scenario: _native.Scenario, space: Space, link: Link) -> list[Settings]:
    """Return the settings to try first: known ones, or all on a line whose rate wanders."""
    if not (link.up.wanders or link.down.wanders):
        return known.settings(scenario, space)
    keys = [parameter.key for parameter in space.parameters]
    values = itertools.product(*(parameter.values for parameter in space.parameters))
    return [dict(zip(keys, each, strict=True)) for each in values]


def for_games(settings: Settings, games: Sequence[str]) -> Settings:
    """Return the settings for another scenario, whose games and calls have these names."""
    return {key: json.dumps(list(games)) if key == PRIORITY else value for key, value in settings.items()}


def _kept(lane: Lane, percentile: float) -> float:
    """Return the rate in bit/s that a shaper keeps."""
    return SHARE * (float(np.percentile(lane.windows_bps, percentile)) if lane.wanders else lane.rate_bps.value)


def _rates(bps: Sequence[float]) -> str:
    up, down = (f'"{each / 1e3:.0f}kbit"' for each in bps)
    return f"{{ up = {up}, down = {down} }}"


def _autorate(link: Link) -> str:
    """Return the bounds of autorate: what the line was seen to have."""
    ways = []
    for way, lane in (("up", link.up), ("down", link.down)):
        if lane.wanders:
            lowest, highest = min(lane.windows_bps), max(lane.windows_bps)
            ways.append(f'{way} = {{ lowest = "{lowest * SHARE / 1e3:.0f}kbit", highest = "{highest / 1e3:.0f}kbit" }}')
    return f"{{ {', '.join(ways)} }}"
