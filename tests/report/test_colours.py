"""Colours that may stand in one plot differ for every reader, in both themes.

Colour blindness is simulated by the matrices of Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
Distances are Euclidean in CIELAB (CIE 1976); 2.3 is just noticeable side by side.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from gamelane.plot import style
from gamelane.report import capture_games, tune_figure
from gamelane.report.phase_figure import COLOURS as PHASES

Floats = npt.NDArray[np.float64]

EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
QUEUES = {queue: colour for queue, (_, colour) in style.QUEUES.items()}
OFTEN = ("fifo", "pie", "codel", "fq_pie", "fq_codel", "cake")
"""Queues that most comparisons have."""
TOGETHER = {
    "often compared queues": ([QUEUES[queue] for queue in OFTEN], 18),
    "queues": (list(QUEUES.values()), 10),
    "variants": (list(style.OTHERS), 10),
    "applications": (list(style.APPS.values()), 18),
    "directions": (list(style.DIRECTIONS.values()), 18),
    "causes": ([colour for _, colour in capture_games.CAUSES], 10),
    "settings": (list(tune_figure.COLOURS.values()), 10),
    "phases": (list(PHASES), 18),
}
"""Colours of one plot, and the least distance between two of them."""


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("theme", style.THEMES)
@pytest.mark.parametrize("plot", TOGETHER)
def test_two_colours_of_a_plot_differ(plot: str, theme: str, eyes: str) -> None:
    names, least = TOGETHER[plot]
    seen = {name: _lab(EYES[eyes] @ _linear(style.THEMES[theme].get(name, name))) for name in names}
    assert len(seen) == len(names)
    apart = {(one, other): np.linalg.norm(seen[one] - seen[other]) for one, other in itertools.combinations(seen, 2)}
    assert {pair: distance for pair, distance in apart.items() if distance < least} == {}


def _linear(colour: str) -> Floats:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(linear: Floats) -> Floats:
    share = XYZ @ np.clip(linear, 0, 1) / WHITE
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
