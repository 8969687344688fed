"""The figures that are compared, and when two agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

SHARE = 0.10
MAY_BE_CHANCE = 0.05
"""Least p-value at which a difference may be chance."""
LEAST = {"ms": 3.0, "%": 0.5, "Mbit/s": 0.0}
"""Two values agree if they differ by a tenth of the kernel's, or by this much, by unit."""


@dataclass(frozen=True)
class Figure:
    """One figure of one flow: the values of all seeds on both sides."""

    flow: str
    what: str
    unit: str
    kernel: Sequence[float]
    sim: Sequence[float]

    @property
    def means(self) -> tuple[float, float]:
        """Means of kernel and simulator; NaN for a side without a value, such as one where no page was complete."""
        kernel, sim = (fmean(side) if side else math.nan for side in (self.kernel, self.sim))
        return kernel, sim

    @property
    def agrees(self) -> bool:
        """Whether the means differ by at most a tenth or the least difference that counts. NaN never agrees."""
        kernel, sim = self.means
        return abs(kernel - sim) <= max(SHARE * abs(kernel), LEAST[self.unit])

    @property
    def may_be_chance(self) -> bool:
        """Whether a rank test (Mann-Whitney) does not tell the two sides apart."""
        if not self.kernel or not self.sim:
            return False
        from scipy.stats import mannwhitneyu  # noqa: PLC0415 - it loads slowly, and only misses are tested

        return bool(mannwhitneyu(self.kernel, self.sim).pvalue >= MAY_BE_CHANCE)


def of_run(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a run, by flow, name and unit: `game|RTT p50|ms`."""
    return {f"{name}|{what}|{unit}": value for name, what, unit, value in _of_run(summary) if value is not None}


def _of_run(summary: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float | None]]:
    for name, flow in summary["flows"].items():
        if "thin" in flow:
            yield from ((name, *figure) for figure in _of_game(flow["thin"]))
            continue
        yield name, "RTT p50", "ms", flow["rtt_ms"]["p50"]
        if flow["app"] == "game":
            yield name, "RTT p95", "ms", flow["rtt_ms"]["p95"]
            for way in ("up", "down"):
                yield name, f"loss {way}", "%", 100 * flow[way]["loss"]
            continue
        yield name, "goodput", "Mbit/s", flow["goodput_bps"] / 1e6
        data = max(("up", "down"), key=lambda way: flow[way]["sent_bytes"])
        yield name, "loss", "%", 100 * flow[data]["loss"]
        if flow["app"] == "web":
            yield name, "transfer p50", "ms", flow["transfer_ms"]["p50"]


def _of_game(thin: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    """Yield the figures of a game over TCP: times of its messages to the players, and what its server sent again."""
    for what, quantile in {"delivery mean": "mean", "delivery p99": "p99"}.items():
        yield what, "ms", thin["down"]["delivery_ms"][quantile]
    yield "held mean", "ms", thin["down"]["held_ms"]["mean"]
    yield "first retransmission", "ms", thin["nth"]["1"]["delay_ms"]
    for what in ("retransmitted_segments", "timeouts"):
        yield what.replace("_", " "), "%", 100 * thin[what] / thin["packets"]


def compared(kernel: Sequence[Mapping[str, float]], sim: Sequence[Mapping[str, float]]) -> list[Figure]:
    """Return the figures that any run has, with the values of the runs that have it."""
    found = []
    for name in dict.fromkeys(name for run in (*kernel, *sim) for name in run):
        flow, what, unit = name.split("|")
        sides = ([run[name] for run in runs if name in run] for runs in (kernel, sim))
        found.append(Figure(flow, what, unit, *sides))
    return found
