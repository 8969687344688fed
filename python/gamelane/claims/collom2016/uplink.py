"""The uplink's queue as a run shows it: when each packet entered and left it, and when packets were dropped.

The records name neither. A packet enters the queue when its host sends it, for the home's network takes no time here.
It leaves when it has waited. Packets that were dropped have no row, only the drop has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamelane import _native
from gamelane.claims.collom2016.arms import GAME
from gamelane.claims.evidence import Numbers, columns

CLOSE_S = 1e-6
"""Times that differ by less are the same. Records have nanoseconds, and sums of them round."""


@dataclass(frozen=True)
class Uplink:
    """Packets that arrived, in the order in which they entered, and the times of drops."""

    entered: Numbers
    left: Numbers
    flow: NDArray[np.str_]
    drops: Numbers
    dropped: NDArray[np.str_]

    @classmethod
    def of(cls, run: _native.Run) -> Uplink:
        """Read the uplink of a run. Drops near its end are left out: packets that still wait have no row."""
        delay, drops = columns(run, "delay"), columns(run, "drops")
        up = delay["direction"] == "up"
        entered = delay["t_s"][up] - delay["one_way_ms"][up] / 1e3
        waited = delay["queue_delay_ms"][up] / 1e3
        left = entered + waited
        order = np.lexsort((left, np.round(entered / CLOSE_S)))
        lost = (drops["direction"] == "up") & (drops["t_s"] < left.max() - waited.max())
        return cls(entered[order], left[order], delay["flow"][up][order], drops["t_s"][lost], drops["flow"][lost])

    def overtakings(self, *flows: str) -> int:
        """Return how many packets, of these flows or of all, left before one that had entered earlier."""
        left = self.left[np.isin(self.flow, flows)] if flows else self.left
        return int(np.sum(np.diff(left) < -CLOSE_S))

    def waiting(self, times: Numbers) -> Numbers:
        """Return how many packets waited at each of these times."""
        entered = np.searchsorted(self.entered, times + CLOSE_S)
        return (entered - np.searchsorted(np.sort(self.left), times + CLOSE_S)).astype(float)

    def drops_at_a_leaving(self) -> float:
        """Return the share of drops at whose time a packet left, in per cent: those at the head of the queue."""
        left = np.concatenate([[-np.inf], np.sort(self.left), [np.inf]])
        after = np.searchsorted(left, self.drops)
        nearest = np.minimum(left[after] - self.drops, self.drops - left[after - 1])
        return 100 * float(np.mean(nearest < CLOSE_S))

    def waits_before_drop_ms(self) -> Numbers:
        """Return how long each dropped packet of the game had waited. Its client sends at equal intervals.

        The packets that are missing in the sequence are those that were dropped, in the same order.
        """
        sent = self.entered[self.flow == GAME]
        interval = float(np.median(np.diff(sent)))
        number = np.round((sent - sent[0]) / interval).astype(int)
        missing = np.setdiff1d(np.arange(number[-1]), number) * interval + sent[0]
        dropped = self.drops[self.dropped == GAME]
        both = min(len(missing), len(dropped))
        return np.asarray((dropped[:both] - missing[:both]) * 1e3)


def lost_in_a_row(run: _native.Run) -> tuple[float, float, float]:
    """Return the shares of packets lost, of those after a lost one, and of seconds with a loss.

    They are of the game upstream, in per cent.
    """
    delay = columns(run, "delay")
    own = (delay["flow"] == GAME) & (delay["direction"] == "up")
    sent = np.sort(delay["t_s"][own] - delay["one_way_ms"][own] / 1e3)
    number = np.round((sent - sent[0]) / float(np.median(np.diff(sent)))).astype(int)
    lost = np.ones(number[-1] + 1, dtype=bool)
    lost[number] = False
    after = lost[1:][lost[:-1]]
    windows = columns(run, "windows")
    seconds = windows["lost"][(windows["flow"] == GAME) & (windows["direction"] == "up")]
    return 100 * float(lost.mean()), 100 * float(after.mean()) if len(after) else 0.0, 100 * float(np.mean(seconds > 0))
