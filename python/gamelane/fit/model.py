"""Fits a game model to captured matches and writes its file, which `model = "NAME.toml"` of a scenario reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps

import numpy as np
import numpy.typing as npt

from gamelane.errors import UsageError
from gamelane.fit.capture import MOST_PLAYERS, Client, Recording
from gamelane.fit.figures import standard_error
from gamelane.fit.growth import MEAN_POWERS, SD_POWERS, Estimate, Growth, Point
from gamelane.fit.series import Series, fit_series
from gamelane.fit.timing import Pace, Tick, pace, tick

Floats = npt.NDArray[np.float64]

LARGEST_B = 1400
"""Maximum payload, as in the other models; larger sums are cut to it."""

REACH = 2
"""Largest number of players offered, as a multiple of the largest captured number."""

LABEL = "measured"
"""Label of the numbers of a fitted model (`[source]` of models/README.md)."""

SAME_TICK = 0.05


@dataclass(frozen=True)
class Match:
    """All captures of matches with this number of players."""

    players: int
    captures: tuple[Recording, ...]

    @property
    def clients(self) -> tuple[Client, ...]:
        """Clients of all captures."""
        return tuple(client for each in self.captures for client in each.clients)

    @property
    def seconds(self) -> float:
        """Length of the longest capture."""
        return max(each.seconds for each in self.captures)

    @property
    def updates(self) -> list[Floats]:
        """Update sizes, client by client."""
        return [client.updates.payload for client in self.clients]

    @property
    def update_gaps_ms(self) -> list[Floats]:
        """Times between updates, client by client."""
        return [client.updates.gaps_ms for client in self.clients]

    def points(self, figure: Callable[[Floats], float]) -> list[Point]:
        """Return a figure of the update sizes of each capture, with its sampling error."""
        found = []
        for each in self.captures:
            series = [client.updates.payload for client in each.clients]
            value = figure(np.concatenate(series))
            found.append(Point(self.players, value, standard_error(series, figure) / value, each.seconds))
        return found


@dataclass(frozen=True)
class Growths:
    """Growth of the mean and of the standard deviation of the update sizes."""

    mean: Growth
    sd: Growth


@dataclass(frozen=True)
class Estimated:
    """Sizes of a match that was not captured: the shape of a sum of captured matches, with this mean and deviation."""

    sum: tuple[int, ...]
    mean: Estimate
    sd: Estimate


@dataclass(frozen=True)
class FittedModel:
    """Content of a model file."""

    tick: Tick
    smallest: int
    matches: Mapping[int, Series]
    growth: Growths | None
    """Growth of the sizes, or None with one number of players."""
    estimated: Mapping[int, Estimated]
    pace: Pace
    commands: Series
    seconds: float
    updates: int

    @property
    def captured(self) -> list[int]:
        """Captured numbers of players."""
        return sorted(self.matches)

    @property
    def offered(self) -> list[int]:
        """Numbers of players that the model can play."""
        return sorted([*self.matches, *self.estimated])


def gather(recordings: Sequence[tuple[int, Recording]]) -> list[Match]:
    """Group recordings by their number of players."""
    counts = sorted({players for players, _ in recordings})
    return [Match(count, tuple(each for players, each in recordings if players == count)) for count in counts]


def fit(matches: Sequence[Match], players: Iterable[int] | None = None) -> FittedModel:
    """Fit a model to matches with one or more numbers of players.

    Estimates other numbers of `players`. By default, these are all from the smallest match to `REACH` times the
    largest. Captures with one number of players do not show any growth, so they give no estimates.
    """
    _one_tick(matches)
    captured = [match.players for match in matches]
    offered = players or range(captured[0], min(captured[-1] * REACH, MOST_PLAYERS) + 1)
    others = [n for n in offered if n not in captured]
    grown = growth(matches)
    clients = [client for match in matches for client in match.clients]
    return FittedModel(
        tick=tick([client.updates.gaps_ms for client in clients]),
        smallest=max(1, int(min(client.updates.payload.min() for client in clients))),
        matches={match.players: fit_series(match.updates) for match in matches},
        growth=grown,
        estimated={n: Estimated(tuple(parts(captured, n)), grown.mean.at(n), grown.sd.at(n)) for n in others}
        if grown
        else {},
        pace=pace([client.commands.gaps_ms for client in clients]),
        commands=fit_series([client.commands.payload for client in clients]),
        seconds=sum(match.seconds for match in matches),
        updates=sum(len(client.updates.payload) for client in clients),
    )


def growth(matches: Sequence[Match]) -> Growths | None:
    """Fit the growth of mean and standard deviation. One number of players shows none."""
    if len(matches) < 2:
        return None
    mean, sd = (
        Growth([point for match in matches for point in match.points(figure)], powers)
        for figure, powers in ((np.mean, MEAN_POWERS), (np.std, SD_POWERS))
    )
    return Growths(mean, sd)


def parts(captured: Sequence[int], players: int) -> list[int]:
    """Return captured matches whose players add up to `players`: as few as possible, larger ones first.

    If no sum fits, the nearest sum is returned; of two, the larger.
    """
    most = players + max(captured)
    # fewest[n]: the number of matches that add up to n, and the largest of them, negative.
    fewest: list[tuple[int, int] | None] = [(0, 0)]
    for n in range(1, most + 1):
        before = ((fewest[n - size], size) for size in captured if size <= n)
        fewest.append(min(((fewer[0] + 1, -size) for fewer, size in before if fewer), default=None))
    left = min((n for n in range(1, most + 1) if fewest[n]), key=lambda n: (abs(n - players), -n))
    chosen = []
    while found := fewest[left] if left else None:
        chosen.append(-found[1])
        left += found[1]
    return chosen


def _one_tick(matches: Sequence[Match]) -> None:
    """Refuse matches whose servers send at different rates: they are not of one game."""
    ticks = {match.players: tick(match.update_gaps_ms).tick_ms for match in matches}
    (slowest, longest), (fastest, shortest) = (pick(ticks.items(), key=lambda each: each[1]) for pick in (max, min))
    if longest > shortest * (1 + SAME_TICK):
        raise UsageError(
            f"the servers differ: a tick of {shortest:.1f} ms with {fastest} players, of {longest:.1f} ms with "
            f"{slowest}\n  hint:    fit one model per game and server setting"
        )


def to_toml(model: FittedModel, name: str, title: str) -> str:
    """Return the model file. It holds sizes, times and counts, but no names of hosts, files or persons."""
    counts = ", ".join(map(str, model.captured))
    pieces = [
        f"name = {dumps(name)}",
        f"title = {dumps(title)}",
        f"players = {{ min = {model.offered[0]}, max = {model.offered[-1]}, default = {model.captured[-1]} }}",
        f'notes = "Fitted by gamelane traffic fit to captured matches of {counts} players: {model.updates} updates in '
        f'{model.seconds:.0f} s. {_others(model)} (docs/models/traffic-fit.md)."',
        "",
        "[server]",
        *_ticking(model.tick),
        "[server.size]",
        'model = "measured"',
        f"min = {model.smallest}",
        f"max = {LARGEST_B}",
        *_estimates(model.estimated),
        *(line for players, series in sorted(model.matches.items()) for line in _match(players, series)),
        "",
        "[client]",
        f"interval = [\n{_intervals(model.pace)}\n]",
        "[client.series]",
        *_series(model.commands),
        "",
        "[source]",
        f'server = "{LABEL}: fitted: tick, jitter and sizes of {model.updates} updates. '
        f'Left out: {_pauses(model.tick)}."',
        f'client = "{LABEL}: fitted: intervals and sizes of the clients of the same matches. '
        f'Left out: {_pauses(model.pace)}."',
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


def _others(model: FittedModel) -> str:
    if not model.estimated:
        return "The captures do not show how sizes grow with the players"
    return "Other numbers of players are estimates from their growth, with 95 % prediction intervals"


def _estimates(estimated: Mapping[int, Estimated]) -> list[str]:
    def entry(players: int, of: Estimated) -> str:
        figures = ", ".join(
            f"{name} = {_number(each.value, 1)}, {name}_95 = [{_number(each.low, 1)}, {_number(each.high, 1)}]"
            for name, each in (("mean", of.mean), ("sd", of.sd))
        )
        return f"    {{ players = {players}, sum = {list(of.sum)}, {figures} }},"

    return ["estimated = [", *(entry(*each) for each in sorted(estimated.items())), "]"] if estimated else []


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
