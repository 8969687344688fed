"""Prepares the games of analyzed captures for the page: loss, retransmissions, lag and its causes by direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gamelane.analysis.capture_verdict import CAUSE_WORDS, LENGTHS, lag, seen_by_senders

CAUSE_COLOURS = {
    "timeout": "#d55e00",
    "timeout-or-probe": "#e69f00",
    "tail-loss-probe": "#cc79a7",
    "fast": "$blue",
    "unexplained": "$muted",
}
SHOWN = 15
"""Maximum number of waits in the list."""


@dataclass(frozen=True)
class Part:
    """A segment of a bar. Its width is in percent of the longest bar."""

    cause: str
    seconds: float
    width: float

    @property
    def colour(self) -> str:
        """Its colour."""
        return CAUSE_COLOURS[self.cause]

    @property
    def words(self) -> str:
        """Cause and length of the segment."""
        return f"{CAUSE_WORDS[self.cause]} {self.seconds:.1f} s"


@dataclass(frozen=True)
class Way:
    """One direction of a TCP game, with the place of its rows in the tables."""

    client: str
    server: str
    to: str
    capture: int
    flow: int
    direction: str
    half: Mapping[str, Any]
    pair: Mapping[str, Any] | None
    rtt_ms: float | None

    @property
    def late(self) -> Mapping[str, float]:
        """Lag in milliseconds by cause: until delivery with two captures, else until the acknowledgement."""
        delivery = self.pair["delivery"] if self.pair else None
        of = delivery["late"] if delivery else self.half["retransmissions"]
        return {cause: of[cause]["lag_ms"] for cause in CAUSE_COLOURS}

    @property
    def lag_s(self) -> float:
        """Return the total lag in seconds."""
        return sum(self.late.values()) / 1000

    @property
    def timed_share(self) -> float | None:
        """Return the share of the lag that was spent waiting for timers."""
        whole, timed = lag(self.half, self.pair["delivery"] if self.pair else None)
        return timed / whole if whole else None

    @property
    def lost(self) -> str:
        """Return the lost packets: counted with two captures, estimated with one."""
        if self.pair:
            return f"{self.pair['lost']} of {self.pair['sent']}"
        return f"≈ {100 * (self.half['loss_estimate'] or 0):.1f} %"

    @property
    def stalls(self) -> str:
        """Return the waits for timers, by length in retransmission timeouts."""
        counts = self.half["stalls"]["by_timeouts"]
        return ", ".join(f"{count} x {LENGTHS[length]} RTO" for length, count in counts.items() if count)


def ways(found: Mapping[str, Any]) -> list[Way]:
    """Return both directions of each TCP game, those with the most lag first."""
    return sorted(_ways(found), key=lambda way: -way.lag_s)


def _ways(found: Mapping[str, Any]) -> Iterator[Way]:
    for game in found["verdict"]["games"]:
        if game["kind"] != "thin-tcp":
            continue
        for direction in ("down", "up"):
            flow, capture, pair = seen_by_senders(found, game["capture"], game["flow"], direction)
            trip = pair["rtt_ms"]["p50"] if pair else flow["tcp"]["rtt_ms"]["p50"]
            yield Way(
                client=flow["client"],
                server=flow["server"],
                to="player" if direction == "down" else "server",
                capture=capture,
                flow=flow["id"],
                direction=direction,
                half=flow["tcp"][direction],
                pair=pair[direction] if pair else None,
                rtt_ms=trip,
            )


def bar(way: Way, among: list[Way]) -> list[Part]:
    """Return the direction's lag by cause, scaled to the longest bar."""
    longest = max((each.lag_s for each in among), default=0.0) or 1.0
    return [Part(cause, ms / 1000, ms / 10 / longest) for cause, ms in way.late.items() if ms > 0]


def udp(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return both directions of each game over UDP."""
    rows = []
    for game in found["verdict"]["games"]:
        if game["kind"] == "thin-tcp":
            continue
        flow, _, pair = seen_by_senders(found, game["capture"], game["flow"], "up")
        for direction, to in (("down", "player"), ("up", "server")):
            updates = flow["udp"][direction]
            if updates:
                counted = updates["numbered"] or {"missing": updates["missing_by_pace"]}
                lost = f"{pair[direction]['lost']} of {pair[direction]['sent']}" if pair else str(counted["missing"])
                rows.append({"client": flow["client"], "server": flow["server"], "to": to, "lost": lost, **updates})
    return rows


@dataclass(frozen=True)
class Wait:
    """A retransmitted packet, with the lag it caused."""

    client: str
    to: str
    t_s: float
    bytes: int
    waited_ms: float
    round_trips: float | None
    cause: str
    times: int
    held_up: int

    @property
    def why(self) -> str:
        """Return its cause in words."""
        return CAUSE_WORDS[self.cause]


def waits(folder: Path, found: Mapping[str, Any]) -> pl.DataFrame:
    """Return every packet of a TCP game delayed by its own retransmission, or by one before it (`times` 0)."""
    chosen = ways(found)
    names = pl.DataFrame(
        [(way.capture, way.flow, way.direction, number) for number, way in enumerate(chosen)],
        schema={"capture": pl.UInt8, "flow": pl.UInt32, "direction": pl.String, "way": pl.UInt32},
        orient="row",
    )
    return (
        pl.scan_parquet(folder / "delay.parquet")
        .filter(pl.col("cause").is_not_null())
        .with_columns(pl.col("direction").cast(pl.String), pl.col("cause").cast(pl.String))
        .join(names.lazy(), on=["capture", "flow", "direction"], how="inner")
        .with_columns(acknowledged=(pl.col("t_s") * 1e6 + pl.col("delay_ms") * 1e3).round(0))
        .with_columns(held_up=(pl.col("itself") == 0).sum().over("way", "acknowledged"))
        .sort("way", "t_s")
        .collect()
    )


def longest(rows: pl.DataFrame, found: Mapping[str, Any]) -> list[Wait]:
    """Return the retransmitted packets with the longest lag."""
    chosen = ways(found)
    own = rows.filter(pl.col("itself") > 0).sort("delay_ms", descending=True).head(SHOWN)
    return [
        Wait(
            client=chosen[row["way"]].client,
            to=chosen[row["way"]].to,
            t_s=row["t_s"],
            bytes=row["len"],
            waited_ms=row["delay_ms"],
            round_trips=row["delay_ms"] / trip if (trip := chosen[row["way"]].rtt_ms) else None,
            cause=row["cause"],
            times=row["itself"],
            held_up=row["held_up"],
        )
        for row in own.to_dicts()
    ]
