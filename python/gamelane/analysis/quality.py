"""Quality of experience: published thresholds, the G-model for shooters, the E-model for voice.

All are pure functions of numbers. Each was fitted to one game or codec on networks of its time. Show the result beside
raw delay, jitter and loss, never instead of them. Cloud games are in `g1072`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Quantity = Literal["rtt_ms", "one_way_ms", "loss_percent"]


@dataclass(frozen=True)
class Threshold:
    """A limit from a study."""

    game: str
    quantity: Quantity
    limit: float
    meaning: str
    """What players report above the limit."""
    source: str


THRESHOLDS = (
    Threshold("Quake III", "rtt_ms", 50, "noticed", "Collom's own trial (collom2016)"),
    Threshold("Quake III", "rtt_ms", 150, "very hard to play", "Armitage, cited in collom2016; Collom's own trial"),
    Threshold("Quake III", "loss_percent", 10, "noticed at times", "Collom's own trial (collom2016)"),
    Threshold("Quake III", "loss_percent", 35, "not tolerated", "Armitage, cited in collom2016"),
    Threshold("Unreal Tournament 2003", "loss_percent", 3, "noticed", "Beigbeder et al., cited in collom2016"),
    Threshold("Unreal Tournament 2003", "rtt_ms", 100, "shooting suffers", "Beigbeder et al., cited in collom2016"),
    Threshold("Unreal Tournament 2003", "rtt_ms", 300, "movement suffers", "Beigbeder et al., cited in collom2016"),
    Threshold("Warcraft III", "rtt_ms", 800, "not tolerated (500 to 800)", "cited in collom2016"),
    Threshold("any game", "one_way_ms", 150, "too late to be delivered", "palazzi-voap, section II"),
    Threshold("Anarchy Online", "rtt_ms", 500, "a serious problem", "Petlund, page on thin streams"),
)
"""Limits from the literature: delay in ms, loss in percent."""


def exceeded(game: str, *, rtt_ms: float | None = None, loss_percent: float | None = None) -> tuple[Threshold, ...]:
    """Return the thresholds of `game` that an RTT in ms or a loss in percent exceeds; empty for an unknown game."""
    values = {"rtt_ms": rtt_ms, "loss_percent": loss_percent}
    return tuple(
        threshold
        for threshold in THRESHOLDS
        if threshold.game == game and (value := values.get(threshold.quantity)) is not None and value > threshold.limit
    )


GRADES = ("good", "playable", "degraded", "unplayable")


def grade(*, rtt_ms: float, loss_percent: float, jitter_p95_ms: float) -> str:
    """Return the worst of three grades of a shooter. The grades are gamelane's convention, not a standard.

    Limits of good, playable and degraded: RTT 50, 100, 150 ms; loss 1, 3, 10 %. For the 95th percentile of jitter: good
    up to 10 ms, playable up to 30 ms, else degraded. An unknown number (NaN) counts as unplayable.
    """
    steps = ((rtt_ms, (50, 100, 150)), (loss_percent, (1, 3, 10)), (jitter_p95_ms, (10, 30, math.inf)))
    return GRADES[max(sum(not value <= limit for limit in limits) for value, limits in steps)]


def g_model(ping_ms: float, jitter_ms: float) -> float:
    """Return the mean opinion score of Quake IV, 1 to 4.37, by the G-model (Wattimena et al., NetGames 2006).

    `ping_ms` is the mean RTT, `jitter_ms` its mean absolute deviation; both must be 0 or more. X = 0.104 ping + jitter
    is clipped to 0..100. At X = 100 the score is 1, from a ping of 962 ms or a jitter of 100 ms. Loss is not part of
    it. The coefficients are from memory: the paper was not available. They give 4.37 at X = 0 and exactly 1.00 at X =
    100, which supports them. Raises ValueError for a negative number.
    """
    if not (ping_ms >= 0 and jitter_ms >= 0):
        raise ValueError("ping and jitter must be 0 or more")
    x = min(0.104 * ping_ms + jitter_ms, 100.0)
    return min(max(-0.00000587 * x**3 + 0.00139 * x**2 - 0.114 * x + 4.37, 1.0), 4.37)


@dataclass(frozen=True)
class Codec:
    """Parameters of a voice codec in the E-model."""

    name: str
    equipment: float
    """Ie: impairment without loss."""
    robustness: float
    """Bpl: robustness against packet loss."""
    source: str


G711 = Codec("G.711", 0, 4.3, "amplet2, after G.113")
G711_PLC = Codec("G.711 with concealment", 0, 25.1, "amplet2, after G.113")
G729A = Codec("G.729A", 11, 19, "from memory")


def e_model_rating(
    one_way_ms: float, loss_percent: float, codec: Codec, *, burst_ratio: float = 1.0, advantage: float = 0.0
) -> float:
    """Return the rating R of a voice call, 0 to 100 (ITU-T G.107, simplified: all other inputs at their defaults).

    `one_way_ms` is the delay from mouth to ear, with codec and playout buffer. The delay term is the fit of Cole and
    Rosenbluth, good to about 400 ms. `loss_percent` is about 0 to 20, and includes packets too late for the playout
    buffer. `burst_ratio` is 1 for random loss and more for bursts (`measures.burst_ratio`). `advantage` is how much
    callers tolerate for convenience, 0 for a wired phone. Raises ValueError for a negative number or a burst ratio of
    0.
    """
    if not (one_way_ms >= 0 and 0 <= loss_percent <= 100 and burst_ratio > 0):
        raise ValueError("delay must be 0 or more, loss 0 to 100 %, the burst ratio above 0")
    delay = 0.024 * one_way_ms + 0.11 * max(one_way_ms - 177.3, 0.0)
    loss = codec.equipment + (95 - codec.equipment) * loss_percent / (loss_percent / burst_ratio + codec.robustness)
    return min(max(93.2 - delay - loss + advantage, 0.0), 100.0)


def e_model_score(rating: float) -> float:
    """Return the mean opinion score of a voice call from its rating: 1 to 4.5 (ITU-T G.107, annex B).

    Below a rating of 6.5 the cubic would fall below 1; the result is held at 1.
    """
    r = min(max(rating, 0.0), 100.0)
    return max(1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6, 1.0)
