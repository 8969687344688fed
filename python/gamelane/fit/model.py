"""Fits a game model to captured matches and writes its file, which `model = "NAME.toml"` of a scenario reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from math import floor

import numpy as np
import numpy.typing as npt

from gamelane import _native
from gamelane.errors import UsageError
from gamelane.fit.capture import Client, Recording
from gamelane.fit.series import Series, fit_series
from gamelane.fit.timing import Pace, Tick, pace, tick

Floats = npt.NDArray[np.float64]

LARGEST_B = 1400
"""Maximum payload, as in the other models; larger sums are cut to it."""

REACH = 2
"""Largest number of players offered, as a multiple of the largest captured number."""


SAME_TICK = 0.05


@dataclass(frozen=True)
class Match:
    """All clients captured in matches with this number of players."""

    players: int
    clients: tuple[Client, ...]
    seconds: float

    @property
    def updates(self) -> list[Floats]:
        """Update sizes, client by client."""
        return [client.updates.payload for client in self.clients]

    @property
    def update_gaps_ms(self) -> list[Floats]:
        """Times between updates, client by client."""
        return [client.updates.gaps_ms for client in self.clients]

    @property
    def mean(self) -> float:
        """Mean update size in bytes."""
        return float(np.concatenate(self.updates).mean())


@dataclass(frozen=True)
class FittedModel:
    """Content of a model file."""

    tick: Tick
    fixed: float
    per_player: float
    smallest: int
    matches: Mapping[int, Series]
    pace: Pace
    commands: Series
    seconds: float
    updates: int

    @property
    def captured(self) -> list[int]:
        """Captured numbers of players."""
        return sorted(self.matches)

    def parts(self, players: int) -> list[int] | None:
        """Return the captured matches that add up to a match of `players`, or None."""
        return _native.match_parts(self.captured, players)


def gather(recordings: Sequence[tuple[int, Recording]]) -> list[Match]:
    """Group recordings by their number of players."""
    counts = sorted({players for players, _ in recordings})
    grouped = {count: [each for players, each in recordings if players == count] for count in counts}
    return [
        Match(count, tuple(client for each in of for client in each.clients), max(each.seconds for each in of))
        for count, of in grouped.items()
    ]


def fit(matches: Sequence[Match]) -> FittedModel:
    """Fit a model to matches with one or more numbers of players."""
    _one_tick(matches)
    fixed, per_player = line([match.players for match in matches], [match.mean for match in matches])
    clients = [client for match in matches for client in match.clients]
    return FittedModel(
        tick=tick([client.updates.gaps_ms for client in clients]),
        fixed=fixed,
        per_player=per_player,
        smallest=max(1, int(min(client.updates.payload.min() for client in clients))),
        matches={match.players: fit_series(match.updates) for match in matches},
        pace=pace([client.commands.gaps_ms for client in clients]),
        commands=fit_series([client.commands.payload for client in clients]),
        seconds=sum(match.seconds for match in matches),
        updates=sum(len(client.updates.payload) for client in clients),
    )


def _one_tick(matches: Sequence[Match]) -> None:
    """Refuse matches whose servers send at different rates: they are not of one game."""
    ticks = {match.players: tick(match.update_gaps_ms).tick_ms for match in matches}
    (slowest, longest), (fastest, shortest) = (pick(ticks.items(), key=lambda each: each[1]) for pick in (max, min))
    if longest > shortest * (1 + SAME_TICK):
        raise UsageError(
            f"the servers differ: a tick of {shortest:.1f} ms with {fastest} players, of {longest:.1f} ms with "
            f"{slowest}\n  hint:    fit one model per game and server setting"
        )


def line(players: Sequence[int], means: Sequence[float]) -> tuple[float, float]:
    """Return bytes independent of players and bytes per player, by least squares.

    With one number of players the two cannot be separated; then all bytes count as the players'.
    """
    weights = line_weights(players)
    fixed = float(weights @ np.array(means))
    return fixed, float(np.mean(means) - fixed) / float(np.mean(players))


def line_weights(players: Sequence[int]) -> Floats:
    """Return the weight of each mean in the intercept of `line`; for 2 and 3 players that is 3 and -2."""
    n = np.array(players, dtype=float)
    if len(n) == 1:
        return np.zeros(1)
    off = n - n.mean()
    weights: Floats = 1 / len(n) - n.mean() * off / float(off @ off)
    return weights


def to_toml(model: FittedModel, name: str, title: str) -> str:
    """Return the model file. It holds sizes, times and counts, but no names of hosts, files or persons."""
    counts = ", ".join(map(str, model.captured))
    most = model.captured[-1] * REACH
    pieces = [
        f"name = {dumps(name)}",
        f"title = {dumps(title)}",
        f"players = {{ min = {model.captured[0]}, max = {most}, default = {model.captured[-1]} }}",
        'provenance = "capture"',
        f'notes = "Fitted by gamelane traffic fit to captured matches of {counts} players: {model.updates} updates in '
        f"{model.seconds:.0f} s. Other numbers of players are sums of these, an extrapolation "
        '(docs/models/traffic-fit.md)."',
        "",
        "[server]",
        *_ticking(model.tick),
        f'provenance = "Fitted: tick, jitter and sizes of {model.updates} updates. Left out: {_pauses(model.tick)}."',
        "[server.size]",
        'model = "measured"',
        f"fixed = {_number(model.fixed)}",
        f"min = {model.smallest}",
        f"max = {LARGEST_B}",
        *(line for players, series in sorted(model.matches.items()) for line in _match(players, series)),
        "",
        "[client]",
        'provenance = "Fitted: intervals and sizes of the clients of the same matches. '
        f'Left out: {_pauses(model.pace)}."',
        f"interval = [\n{_intervals(model.pace)}\n]",
        "[client.series]",
        *_series(model.commands),
    ]
    return "\n".join(pieces) + "\n"


def _ticking(tick: Tick) -> list[str]:
    if not tick.on_a_grid:
        return [f'tick = {{ dist = "normal", mean_ms = {tick.tick_ms:.4f}, sd_ms = {tick.jitter_sd_ms:.4f} }}']
    return [
        f'tick = {{ dist = "constant", value_ms = {tick.tick_ms:.4f} }}',
        f'jitter = {{ dist = "normal", mean_ms = 0, sd_ms = {tick.jitter_sd_ms:.4f} }}',
    ]


def _pauses(of: Tick | Pace) -> str:
    if not of.stalls:
        return "nothing"
    gaps = f"{of.stalls} gap{'s' * (of.stalls > 1)}"
    return f"{gaps} of up to {of.longest_gap_ms:.1f} ms, pauses rather than the game's pace"


def _match(players: int, series: Series) -> list[str]:
    return ["", "[[server.size.match]]", f"players = {players}", *_series(series)]


def _series(series: Series) -> list[str]:
    pairs = list(zip(series.shares.tolist(), series.values.tolist(), strict=True))
    rows = [pairs[at : at + 8] for at in range(0, len(pairs), 8)]
    body = "\n".join("    " + " ".join(f"[{_number(p, 6)}, {_number(x)}]," for p, x in row) for row in rows)
    return [f"phi = {series.phi:.6f}", f"theta = {series.theta:.6f}", f"quantiles = [\n{body}\n]"]


def _intervals(pace: Pace) -> str:
    """Return a mixture of uniform distributions, which are straight lines between quantiles."""
    steps = zip(pace.shares, pace.shares[1:], pace.intervals_ms, pace.intervals_ms[1:], strict=False)
    return "\n".join(
        f'    {{ weight = {_number(p1 - p0, 6)}, dist = "uniform", lo_ms = {x0:.4f}, hi_ms = {x1:.4f} }},'
        for p0, p1, x0, x1 in steps
    )


def _number(value: float, decimals: int = 3) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return text if text not in ("", "-0") else "0"


def plays(model: FittedModel) -> list[int]:
    """Return the numbers of players that the model offers."""
    return [n for n in range(model.captured[0], floor(model.captured[-1] * REACH) + 1) if model.parts(n) is not None]
