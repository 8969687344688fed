"""Prepares the games of analyzed captures for the page: loss, retransmissions, lag and its causes by direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gamelane.analysis.capture_facts import CAUSE_WORDS, LENGTHS, TIMED, Game, Way

CAUSE_COLOURS = {
    "timeout": "$orange",
    "timeout-or-probe": "$ochre",
    "tail-loss-probe": "$pink",
    "fast": "$blue",
    "unexplained": "$muted",
}
CAUSES = [(CAUSE_WORDS[cause], colour) for cause, colour in CAUSE_COLOURS.items()]
"""The legend of the causes."""
SHOWN = 15
"""Maximum number of waits in the list."""
MOST = 60
"""Maximum number of rows in a table of games."""


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
class Row:
    """One direction of a TCP game in the table of lag."""

    game: Game
    way: Way
    half: Mapping[str, Any]

    @property
    def lag_s(self) -> float:
        """Return the total lag in seconds."""
        return sum(self.way.lag_ms.values()) / 1000

    @property
    def timed_share(self) -> float | None:
        """Return the share of the lag that was spent waiting for timers."""
        timed = sum(self.way.lag_ms[cause] for cause in TIMED)
        return timed / 1000 / self.lag_s if self.lag_s else None

    @property
    def lost(self) -> str:
        """Return the lost packets: counted with two captures, estimated with one."""
        estimate = self.way.loss_estimate
        return f"≈ {100 * estimate:.1f} %" if estimate is not None else lost(self.way)

    @property
    def stalls(self) -> str:
        """Return the waits for timers, by length."""
        counts = self.half["stalls"]["by_timeouts"]
        return ", ".join(f"{count} of {LENGTHS[length]}" for length, count in counts.items() if count)


def lost(way: Way) -> str:
    """Return the counted losses of a direction; an empty string if they cannot be counted."""
    return f"{way.lost[0]} of {way.lost[1]}" if way.lost else ""


def rows(games: Sequence[Game]) -> list[Row]:
    """Return both directions of the TCP games, those with the most lag first."""
    both = [Row(game, way, way.half) for game in games for way in game.ways.values() if way.half]
    return sorted(both, key=lambda row: -row.lag_s)[:MOST]


def bar(row: Row, among: list[Row]) -> list[Part]:
    """Return the direction's lag by cause, scaled to the longest bar."""
    longest = max((each.lag_s for each in among), default=0.0) or 1.0
    lag = row.way.lag_ms
    return [Part(cause, lag[cause] / 1000, lag[cause] / 10 / longest) for cause in CAUSE_COLOURS if lag[cause] > 0]


def udp(games: Sequence[Game]) -> list[tuple[Game, Way, str]]:
    """Return both directions of the games over UDP with their losses, those with the most trouble first."""
    both = [(game, way, lost(way)) for game in games for way in game.ways.values() if way.updates]
    return sorted(both, key=lambda row: -row[0].behind_ms(row[1].direction))[:MOST]


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


def waits(folder: Path, chosen: list[Row]) -> pl.DataFrame:
    """Return every packet of these directions delayed by its own retransmission, or by one before it (`itself` 0)."""
    names = pl.DataFrame(
        [(row.way.capture, row.way.flow, row.way.direction, number) for number, row in enumerate(chosen)],
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


def longest(delayed: pl.DataFrame, chosen: list[Row]) -> list[Wait]:
    """Return the retransmitted packets with the longest lag."""
    own = delayed.filter(pl.col("itself") > 0).sort("delay_ms", descending=True).head(SHOWN)
    return [
        Wait(
            client=chosen[row["way"]].game.client,
            to=chosen[row["way"]].way.to,
            t_s=row["t_s"],
            bytes=row["len"],
            waited_ms=row["delay_ms"],
            round_trips=row["delay_ms"] / trip if (trip := chosen[row["way"]].game.rtt_ms) else None,
            cause=row["cause"],
            times=row["itself"],
            held_up=row["held_up"],
        )
        for row in own.to_dicts()
    ]
