"""Plots on a terminal that show how a measurement goes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, Self

from gamelane.report.sparkline import chart
from gamelane.terminal.talk import stderr

TYPE_CHECKING = False  # Rich loads slowly
if TYPE_CHECKING:
    from rich.live import Live

CELLS = 60
"""Width of the plots."""
RATE_OVER_S = 1.0
"""Time over which a rate is a mean: TCP hands over what followed a lost segment all at once."""


@dataclass
class Progress:
    """What is known of a measurement that goes on. A cell of a plot has the highest value of its time."""

    total_s: float
    plots: dict[str, list[float]] = field(default_factory=dict)
    newest: dict[str, float] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)
    """First cell of each phase."""
    said: list[dict[str, Any]] = field(default_factory=list)

    def add(self, now: dict[str, Any]) -> None:
        """Note what the measuring program said: `t_s`, `phase`, `rtt_ms`, and the bytes so far if they are known."""
        cell = self._cell(now["t_s"])
        first = min(self._cell(self.said[-1]["t_s"]) + 1, cell) if self.said else 0
        self.said.append(now)
        self.phases.setdefault(now["phase"], cell)
        self.newest["RTT"] = now["rtt_ms"]
        earlier = [each for each in self.said if each["t_s"] <= now["t_s"] - RATE_OVER_S] or self.said
        passed_s = now["t_s"] - earlier[-1]["t_s"]
        for way in ("up", "down"):
            if f"{way}_bytes" in now and passed_s > 0:
                self.newest[way] = 8e-6 * (now[f"{way}_bytes"] - earlier[-1][f"{way}_bytes"]) / passed_s
        for name, value in self.newest.items():
            cells = self.plots.setdefault(name, [0.0] * CELLS)
            cells[first : cell + 1] = [max(each, value) for each in cells[first : cell + 1]]

    def _cell(self, t_s: float) -> int:
        return min(int(t_s / self.total_s * CELLS), CELLS - 1)

    def text(self, *, ascii_only: bool) -> str:
        """Return the plots, at most 79 columns wide. Beside each stand its newest and its highest value."""
        lines = []
        for name, cells in self.plots.items():
            height, unit = (4, "ms") if name == "RTT" else (2, "Mbit/s")
            top = max(cells)
            labels = [f"{name:4} {self.newest[name]:6.1f} {unit}", f" max {top:6.1f}", *[""] * (height - 2)]
            drawn = chart(cells, top or 1.0, height, ascii_only=ascii_only)
            lines += [f"{label:18} {line}".rstrip() for label, line in zip(labels, drawn, strict=True)]
        axis = ""
        for phase, cell in self.phases.items():
            axis = f"{axis:{cell}}{phase} "
        now_s = self.said[-1]["t_s"]
        return "\n".join([*lines, f"{'':19}{axis[:CELLS].rstrip()}", f"{now_s:.0f} s of {self.total_s:.0f} s"])


class Shown:
    """The progress on a terminal, if there is one. The end of the block removes the plots."""

    def __init__(self, total_s: float, *, quiet: bool) -> None:
        self.progress = Progress(total_s)
        self.shows = not quiet and sys.stderr.isatty()
        self.ascii_only = not (sys.stderr.encoding or "").startswith("utf")
        self.live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, now: dict[str, Any]) -> None:
        """Draw again with what is now."""
        if not self.shows:
            return
        self.progress.add(now)
        if self.live is None:
            from rich.live import Live  # noqa: PLC0415 - loads slowly

            self.live = Live(console=stderr(), auto_refresh=False, transient=True)
            self.live.start()
        self.live.update(self.progress.text(ascii_only=self.ascii_only), refresh=True)
