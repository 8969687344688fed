"""Colours of a sweep's figures: one per value of an axis, and a scale from good to bad for maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gamelane.plot import style
from gamelane.sweep.records import SweepRecords

HEAT = ("#eef3f0", "#fbdfae", "#f2a065", "#cb5236", "#741a1d")
"""From good to bad. Lightness alone distinguishes them too."""

INKS = ("#1d2329", "#ffffff")
DARK = 0.62


@dataclass(frozen=True)
class Scale:
    """A scale between the 5th and the 95th percentile, so that a few extremes do not grey out the rest."""

    low: float
    high: float
    log: bool
    higher_is_better: bool

    @classmethod
    def of(cls, values: Sequence[float], *, higher_is_better: bool) -> Scale:
        """Return the scale for these values."""
        ordered = sorted(values) or [0.0, 1.0]
        low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.05, 0.95))
        return cls(low, high if high > low else low + 1, low > 0 and high / low > 8, higher_is_better)

    def share(self, value: float) -> float:
        """Return the position of a value between good, 0, and bad, 1."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        share = min(max(share, 0.0), 1.0)
        return 1 - share if self.higher_is_better else share

    def ink(self, value: float) -> str:
        """Return the text colour for a value's cell."""
        return INKS[self.share(value) > DARK]


def by_label(records: SweepRecords, index: int | None) -> dict[str, str]:
    """Return a colour for each value of an axis. Queues have the same colours everywhere."""
    if index is None:
        return {"": "$blue"}
    labels = records.dimensions[index].labels
    if all(label in style.QUEUES for label in labels):
        return {label: style.QUEUES[label][1] for label in labels}
    return {label: style.OTHERS[place % len(style.OTHERS)] for place, label in enumerate(labels)}


def title(label: str) -> str:
    """Return a value as the legend shows it."""
    return style.QUEUES[label][0] if label in style.QUEUES else label
