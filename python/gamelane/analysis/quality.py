"""What players and callers would say: published thresholds, the G-model for shooters, the E-model for voice.

All are pure functions of numbers. Each is fitted to one game or codec on the networks of its day: show it beside the
raw delay, jitter and loss, never in their place. Cloud games are in `g1072`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Quantity = Literal["rtt_ms", "one_way_ms", "loss_percent"]


@dataclass(frozen=True)
class Threshold:
    """A limit found by a study."""

    game: str
    quantity: Quantity
    limit: float
    meaning: str
    """What is said to happen above the limit."""
    source: str


THRESHOLDS = (
    Threshold("Quake III", "rtt_ms", 50, "noticed", "Collom's own trial (collom2016)"),
    Threshold("Quake III", "rtt_ms", 150, "very hard to play", "Armitage, by collom2016; Collom's own trial"),
    Threshold("Quake III", "loss_percent", 10, "noticed at times", "Collom's own trial (collom2016)"),
    Threshold("Quake III", "loss_percent", 35, "not tolerated", "Armitage, by collom2016"),
    Threshold("Unreal Tournament 2003", "loss_percent", 3, "noticed", "Beigbeder et al., by collom2016"),
    Threshold("Unreal Tournament 2003", "rtt_ms", 100, "shooting suffers", "Beigbeder et al., by collom2016"),
    Threshold("Unreal Tournament 2003", "rtt_ms", 300, "movement suffers", "Beigbeder et al., by collom2016"),
    Threshold("Warcraft III", "rtt_ms", 800, "not tolerated (from 500 on)", "by collom2016"),
    Threshold("any game", "one_way_ms", 150, "too late to be delivered", "palazzi-voap section II"),
    Threshold("Anarchy Online", "rtt_ms", 500, "a serious problem", "Petlund, by reference/quality.md"),
)
"""Limits of the literature, of delay in ms and loss in percent (reference/quality.md section 1)."""


def exceeded(game: str, *, rtt_ms: float | None = None, loss_percent: float | None = None) -> tuple[Threshold, ...]:
    """Thresholds of `game` that a round trip in ms or a loss in percent passes; of no game named so, none."""
    values = {"rtt_ms": rtt_ms, "loss_percent": loss_percent}
    return tuple(
        threshold
        for threshold in THRESHOLDS
        if threshold.game == game and (value := values.get(threshold.quantity)) is not None and value > threshold.limit
    )


GRADES = ("good", "playable", "degraded", "unplayable")


def grade(*, rtt_ms: float, loss_percent: float, jitter_p95_ms: float) -> str:
    """Worst of three grades for a shooter: gamelane's own convention, after the thresholds above (not a standard).

    Round trip up to 50, 100, 150 ms; loss up to 1, 3, 10 %; 95th percentile of jitter up to 10, 30 ms, above which it
    is degraded. A number that is not known (NaN) counts as unplayable. Source: reference/quality.md sections 1 and 7.
    """
    steps = ((rtt_ms, (50, 100, 150)), (loss_percent, (1, 3, 10)), (jitter_p95_ms, (10, 30, math.inf)))
    return GRADES[max(sum(not value <= limit for limit in limits) for value, limits in steps)]


def g_model(ping_ms: float, jitter_ms: float) -> float:
    """Mean opinion of Quake IV, 1 to 4.37, by the G-model (Wattimena et al., NetGames 2006).

    `ping_ms` is the mean round trip, `jitter_ms` its mean absolute deviation, both 0 or more. X = 0.104 ping + jitter
    is clipped to 0..100, where the cubic has fallen to 1: a ping of 962 ms or 100 ms of jitter. Loss has no part in it.
    The coefficients are from memory and the paper could not be opened; that the cubic falls from 4.37 at 0 to 1.00 at
    100 speaks for them (reference/quality.md section 2). Raises ValueError for a negative number.
    """
    if not (ping_ms >= 0 and jitter_ms >= 0):
        raise ValueError("ping and jitter are times of 0 or more")
    x = min(0.104 * ping_ms + jitter_ms, 100.0)
    return min(max(-0.00000587 * x**3 + 0.00139 * x**2 - 0.114 * x + 4.37, 1.0), 4.37)


@dataclass(frozen=True)
class Codec:
    """What the E-model knows of a voice codec."""

    name: str
    equipment: float
    """Ie: impairment without loss."""
    robustness: float
    """Bpl: how much loss it bears."""
    source: str


G711 = Codec("G.711", 0, 4.3, "amplet2, after G.113")
G711_PLC = Codec("G.711 with concealment", 0, 25.1, "amplet2, after G.113")
G729A = Codec("G.729A", 11, 19, "from memory, unverified")


def e_model_rating(
    one_way_ms: float, loss_percent: float, codec: Codec, *, burst_ratio: float = 1.0, advantage: float = 0.0
) -> float:
    """Transmission rating R of a voice call, 0 to 100 (ITU-T G.107, simplified: all other inputs at their defaults).

    `one_way_ms` from mouth to ear, so codec and playout buffer included; the delay term is Cole and Rosenbluth's fit,
    good to about 400 ms. `loss_percent` of packets, those too late for the playout buffer included, 0 to 20 or so.
    `burst_ratio` is 1 for random loss and above for bursts (`measures.burst_ratio`). `advantage` is what callers
    forgive, 0 for a wired phone. Source: reference/quality.md section 4. Raises ValueError for a negative number or a
    burst ratio of 0.
    """
    if not (one_way_ms >= 0 and 0 <= loss_percent <= 100 and burst_ratio > 0):
        raise ValueError("delay is 0 or more, loss 0 to 100 %, a burst ratio above 0")
    delay = 0.024 * one_way_ms + 0.11 * max(one_way_ms - 177.3, 0.0)
    loss = codec.equipment + (95 - codec.equipment) * loss_percent / (loss_percent / burst_ratio + codec.robustness)
    return min(max(93.2 - delay - loss + advantage, 0.0), 100.0)


def e_model_score(rating: float) -> float:
    """Mean opinion of a voice call from its rating: 1 to 4.5 (ITU-T G.107 annex B).

    Below a rating of 6.5 the cubic would fall under 1; it is held there.
    """
    r = min(max(rating, 0.0), 100.0)
    return max(1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6, 1.0)
