"""One line on a terminal that shows how a measurement goes."""

from __future__ import annotations

import sys
from typing import Any

from gamelane.report.sparkline import sparkline


class Shown:
    """The progress on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self.shows = not quiet and sys.stderr.isatty()
        self.before: dict[str, Any] = {}
        self.trips: list[float] = []

    def show(self, now: dict[str, Any]) -> None:
        """Replace the line by what is now."""
        if self.shows:
            self.trips.append(now["rtt_ms"])
            sys.stderr.write("\r" + _progress(self.before, now, self.trips) + "\x1b[K")
            sys.stderr.flush()
        self.before = now

    def clear(self) -> None:
        """Remove the line."""
        if self.trips:
            sys.stderr.write("\r\x1b[K")


def _progress(before: dict[str, Any], now: dict[str, Any], trips: list[float]) -> str:
    """Return a line of less than 80 columns: time, phase, rates if they are known, and the newest round trips."""
    passed = now["t_s"] - before.get("t_s", 0.0) or 1.0
    rates = ""
    if "up_bytes" in now:
        up, down = (8e-6 * (now[key] - before.get(key, 0)) / passed for key in ("up_bytes", "down_bytes"))
        rates = f"up {up:6.1f} down {down:6.1f} Mbit/s  "
    newest = trips[-20:]
    drawn = sparkline(newest, 1, max(*newest, 1.0), ascii_only=not (sys.stderr.encoding or "").startswith("utf"))
    return f"{now['t_s']:4.0f} s {now['phase']:4} {rates}rtt {now['rtt_ms']:6.1f} ms {drawn}"
