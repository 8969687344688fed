"""ITU-T G.1072: mean opinion scores of cloud games, from network and video parameters.

Coefficients and formulas are those of the ITU-T reference implementation. The tests repeat its published outputs to the
last digit. The score predicts the mean of many players; show it beside the raw numbers, never instead of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Complexity = Literal["low", "medium", "high"]

RESOLUTIONS = ((640, 480), (1280, 720), (1920, 1080))
"""Width and height of the videos that the model was fitted to."""


@dataclass(frozen=True)
class Opinion:
    """Result of G.1072: mean opinion scores from 1.3 (bad) to 4.64 (excellent)."""

    overall: float
    """Everything together."""
    interaction_delay: float
    """Score of the control alone, from delay."""
    interaction_loss: float
    """Score of the control alone, from frozen frames."""
    video: float
    """Score of the picture alone, from coding and loss (ITU-T G.1071 with new coefficients)."""
    fragmentation: float
    """Block artefacts in the picture. Diagnostic only: not part of `overall`."""
    unclearness: float
    """Blur in the picture. Diagnostic only: not part of `overall`."""
    outside: tuple[str, ...]
    """Inputs outside the range that the model was fitted to. If there are any, the scores are an extrapolation."""


@dataclass(frozen=True)
class Video:
    """The video of a cloud game."""

    bitrate_mbps: float
    """Bitrate, 0.3 to 50 Mbit/s."""
    frame_rate: float
    """Frame rate, 10 to 60 frames per second."""
    resolution: tuple[int, int] = (1280, 720)
    """Width and height: one of `RESOLUTIONS`."""
    complexity: Complexity = "high"
    """How hard the picture is to encode."""


@dataclass(frozen=True)
class Network:
    """Delay and loss in the network. Give one of the two losses, in percent of packets."""

    delay_ms: float
    """RTT from input to display, 0 to 400 ms. G.1072 does not say whether its delay is one-way or round-trip. The
    player feels the loop from input to display, so this model takes the RTT.
    """
    freezing_loss_percent: float = 0.0
    """Loss 0 to 5 %, if the client freezes on the last whole frame. In this model no effect below 16 ms of delay."""
    slicing_loss_percent: float = 0.0
    """Loss 0 to 2 %, if the client shows the damaged frame."""


def opinion(video: Video, network: Network, *, interaction: Complexity = "high") -> Opinion:
    """Return the mean opinion score of a cloud game. `interaction` is how strongly the game depends on fast reactions.

    Raises ValueError for a number that is negative or not finite, for a bitrate, frame rate or resolution of zero, and
    if both losses are given. Source: ITU-T G.1072 (2020) and its reference implementation.
    """
    _check(video, network)
    bitrate, rate = video.bitrate_mbps, video.frame_rate
    pixels = video.resolution[0] * video.resolution[1]
    frames_lost = _frame_loss_percent(bitrate, rate, network.delay_ms, network.freezing_loss_percent)
    delay = _delay_impairment(network.delay_ms, interaction)
    frame = _frame_impairment(_FRAME[interaction], rate, frames_lost, 68.98)
    temporal = _frame_impairment(_TEMPORAL[interaction], rate, frames_lost, 61.29)
    quality, coding = _coding_impairment(_VIDEO[video.complexity], bitrate, rate, pixels)
    transmission = _transmission_impairment(_VIDEO[video.complexity], quality, network.slicing_loss_percent)
    rating = 100 - 0.788 * coding - 0.896 * transmission - 0.227 * temporal - 0.625 * frame - 0.848 * delay
    return Opinion(
        overall=_score(rating),
        interaction_delay=_score(100 - delay),
        interaction_loss=_score(100 - frame),
        video=_score(100 - coding - transmission),
        fragmentation=_score(100 - _fragmentation(video.complexity, bitrate, rate, pixels)),
        unclearness=_score(100 - _unclearness(video.complexity, bitrate, rate, pixels)),
        outside=_outside(video, network),
    )


def _check(video: Video, network: Network) -> None:
    losses = (network.freezing_loss_percent, network.slicing_loss_percent)
    numbers = (network.delay_ms, *losses, video.bitrate_mbps, video.frame_rate)
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise ValueError("delay, loss, bitrate and frame rate must be 0 or more")
    if video.bitrate_mbps == 0 or video.frame_rate == 0 or min(video.resolution) <= 0:
        raise ValueError("bitrate, frame rate and size of the video must be above 0")
    if min(losses) > 0:
        raise ValueError("give only one of the two losses")


def _outside(video: Video, network: Network) -> tuple[str, ...]:
    within = {
        "delay_ms": network.delay_ms <= 400,
        "bitrate_mbps": 0.3 <= video.bitrate_mbps <= 50,
        "frame_rate": 10 <= video.frame_rate <= 60,
        "resolution": video.resolution in RESOLUTIONS,
        "freezing_loss_percent": network.freezing_loss_percent <= 5,
        "slicing_loss_percent": network.slicing_loss_percent <= 2,
    }
    return tuple(name for name, inside in within.items() if not inside)


def _score(rating: float) -> float:
    rating = _clip(rating, 0.0, 100.0)
    return _clip(1.3 + 0.0334 * rating + rating * (rating - 60) * (100 - rating) * 7e-6, 1.3, 4.64)


def _delay_impairment(delay_ms: float, interaction: Complexity) -> float:
    scale, middle, slope, offset = _DELAY[interaction]
    return _clip(scale / (1 + math.exp(middle - slope * delay_ms)) + offset, 0.0, 68.98)


def _frame_loss_percent(bitrate: float, rate: float, delay_ms: float, loss: float) -> float:
    if delay_ms < 16:
        return 0.0
    shown = rate * math.exp(-(0.08526 + 0.00073 * rate + 1.425e-4 * bitrate * rate) * (0.09656 * delay_ms - 1.5) * loss)
    return 100 * (rate - shown) / rate


def _frame_impairment(c: tuple[float, float, float, float], rate: float, frames_lost: float, most: float) -> float:
    return _clip(c[0] + c[1] * rate**2 + c[2] * rate + c[3] * math.log(frames_lost + 1), 0.0, most)


def _coding_impairment(c: tuple[float, ...], bitrate: float, rate: float, pixels: int) -> tuple[float, float]:
    """Return the coding impairment before and after it is clipped."""
    bits_per_pixel = bitrate * 1e6 / (pixels * rate)
    complexity = c[4] * math.exp(c[5] * bits_per_pixel) + c[6]
    quality = min(c[0] * math.exp(c[1] * bits_per_pixel) + c[2] * complexity + c[3], 65.0)
    return quality, _clip(quality, 0.0, 78.78)


def _transmission_impairment(c: tuple[float, ...], quality: float, loss: float) -> float:
    if loss == 0:
        return 0.0
    length = (c[9] - quality) * loss / (quality * c[11] + loss)
    return c[7] * math.log(c[8] * c[12] * (math.exp(c[13] * length) - 1) + 1)


def _fragmentation(video: Complexity, bitrate: float, rate: float, pixels: int) -> float:
    kbps = bitrate * 1000
    a, b, c = _FRAGMENTATION[video]
    return _clip(a + b * math.log(kbps / (rate * pixels) * kbps) + c * kbps, 0.0, 75.94)


def _unclearness(video: Complexity, bitrate: float, rate: float, pixels: int) -> float:
    kbps = bitrate * 1000
    a, b, c = _UNCLEARNESS[video]
    full = 1080 * 1920
    return _clip(a + b * math.log(kbps / (rate * pixels) * kbps) + c * math.log(pixels / full), 0.0, 68.08)


def _clip(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


_FAST_DELAY = (90.0, 1.191, 0.009775, -18.73)
_DELAY = {"low": (47.97, 2.097, 0.01073, -4.567), "medium": _FAST_DELAY, "high": _FAST_DELAY}
_FAST_FRAME = (54.71, 0.02589, -2.485, 9.306)
_FRAME = {"low": (23.43, 0.008574, -0.9253, 5.855), "medium": _FAST_FRAME, "high": _FAST_FRAME}
_FAST_TEMPORAL = (47.03, 0.01747, -1.823, 10.7)
_TEMPORAL = {"low": (29.13, 0.01344, -1.283, 6.724), "medium": _FAST_TEMPORAL, "high": _FAST_TEMPORAL}
_FRAGMENTATION = {
    "low": (2.1, -5.426, 0.0005258),
    "medium": (13.79, -8.017, 0.0005442),
    "high": (11.21, -10.59, 0.0006314),
}
_UNCLEARNESS = {
    "low": (4.299, -2.016, -17.99),
    "medium": (18.58, -3.422, -15.38),
    "high": (17.13, -4.494, -7.844),
}
_VIDEO = {
    "low": (
        52.505238, -28.0170325, -2.68405109, 5.46647668, 12.4214486, -28.0191642, 0.215799183,
        19.7091683, 3358.30546, 28.369915, 4.60029723e-4, 0.0234972977, 0.00164739513, 0.0895913579,
    ),
    "medium": (
        37.9882097, -13.7207634, 8.57836656, 3.2658129, 6.83275916, -127.997288, 0.479594798,
        0.612878511, 0.00139396166, 56.2892863, 4.6e-4, 0.00475669545, 0.0581327058, 2.38014343,
    ),
    "high": (
        47.7463038, -12.0699723, 9.05167501, 3.41919377, 7.62306351, -167.837954, 0.0760332685,
        1.57176227, 3.68595885, 74.0570804, 4.59999348e-4, 0.00406000335, 2.58892015e-8, 0.868406685,
    ),
}  # fmt: skip
