"""Figures 2 to 5 of griwodz2006. The paper gives numbers for some of the bars of figure 2 only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane import _native
from gamelane.analysis.shared_paths import shared_paths
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.griwodz2006.arms import (
    AT_100MS,
    GRID,
    SETTINGS,
    Condition,
    delay,
    modified,
    multiplexed,
    simplex,
)
from gamelane.claims.griwodz2006.readings import mean_delay
from gamelane.claims.griwodz2006.trace import NO_LOSS, deliveries, trace
from gamelane.plot.panels import Figure, Panel
from gamelane.report.papers import Theirs
from gamelane.report.papers.pictures import Heading, Value, bars, by_rank
from gamelane.report.shared_paths import matrix

WAIT = "Mean time in ms from the first transmission to the retransmission that was acknowledged; lower is better."
ALONE = f"{WAIT} Of packets that were retransmitted by themselves."
ALL = f"{WAIT} Of all packets, also those that another packet's retransmission included."


def figures(evidence: Evidence, theirs: Theirs) -> list[Figure]:
    """Return the paper's figures in its order."""
    evidence.prepare([multiplexed(condition, setting) for condition in AT_100MS for setting in SETTINGS])
    return [
        _round_trips(evidence),
        _per_round_trip(evidence),
        _shared(evidence),
        _settings(evidence, theirs),
        _multiplexed(evidence),
        _fack(evidence),
        _timeouts(evidence),
    ]


def _round_trips(evidence: Evidence) -> Figure:
    """Return figure 1(a) of the first seed. Paths are symmetric, so a round trip is twice a delivery."""
    quiet = evidence.derived(trace().with_(NO_LOSS), "deliveries", deliveries)[0]
    worst = evidence.derived(trace(), "worst", _worst)[0]
    order = sorted(quiet, key=lambda player: float(quiet[player].mean()))
    place = np.arange(len(order), dtype=float)
    lines = {
        "largest application delay": np.array([worst.get(player, np.nan) for player in order]),
        "longest round trip": np.array([2 * quiet[player].max() for player in order]),
        "mean round trip": np.array([2 * quiet[player].mean() for player in order]),
    }
    heading = Heading(
        "Fig. 1a",
        "round trips and largest delays of the connections",
        "In ms, connections in the order of their mean round trip; lower is better. A connection without a"
        " retransmission has no largest delay. Our generator was fitted to the paper's mean of somewhat above 250 ms"
        " and its longest of one second. Their largest delay is 67 s.",
    )
    return by_rank(heading, {word: (place, values) for word, values in lines.items()}, "ms")


def _worst(run: _native.Run) -> dict[int, float]:
    rows = columns(run, "retransmissions")
    most = np.zeros(int(rows["connection"].max(initial=0)) + 1)
    np.maximum.at(most, rows["connection"].astype(int), rows["application_delay_ms"])
    return {player: float(ms) for player, ms in enumerate(most) if ms}


def _per_round_trip(evidence: Evidence) -> Figure:
    def measure(run: _native.Run) -> Numbers:
        rows = columns(run, "deliveries")
        down = rows["direction"] == "down"
        players = rows["player"][down].astype(int)
        writes = np.bincount(players)
        round_trip_s = 2 * np.bincount(players, rows["delay_ms"][down]) / np.maximum(writes, 1) / 1000
        values: Numbers = writes / evidence.base.duration_s * round_trip_s
        return np.sort(values)

    values = evidence.derived(trace(), "per round trip", measure)[0]
    heading = Heading(
        "Fig. 1b",
        "messages per round trip",
        "Messages of the server per round trip of each connection, in order. Neither more nor fewer is better: below"
        " one, duplicate ACKs cannot tell of a loss in time. First seed.",
    )
    return by_rank(heading, {"messages per round trip": (np.arange(len(values), dtype=float), values)}, "messages")


def _shared(evidence: Evidence) -> Figure:
    found = shared_paths(evidence.derived(trace(), "deliveries", deliveries)[0])
    heading = Heading(
        "Fig. 1c",
        "connections that may share a path",
        "A dot is a pair of connections that Wilcoxon's rank-sum test does not distinguish. Connections are sorted by"
        " group, the largest first. Neither more nor fewer is better: the generator has eight paths. First seed.",
    )
    return heading.figure([Panel(matrix(found))], ())


def _settings(evidence: Evidence, theirs: Theirs) -> Figure:
    groups = {
        f"{word} retransmission": (
            _by_setting(lambda arm, number=number: delay(evidence, arm, number), simplex, theirs(claim)),  # type: ignore[misc]
            "ms",
        )
        for number, word, claim in ((1, "first", "fig2a"), (2, "second", "fig2b"))
    }
    title = "delay of retransmissions, a connection for each player, 100 ms"
    return bars(Heading("Fig. 2", title, ALONE), groups)


def _multiplexed(evidence: Evidence) -> Figure:
    values = _by_setting(lambda arm: mean_delay(evidence, arm, "all"), multiplexed, None)
    return bars(Heading("Fig. 3", "delay of retransmissions, one connection, 100 ms", ALL), {"": (values, "ms")})


def _by_setting(
    measure: Callable[[Arm], Numbers], arm: Callable[[Condition, str], Arm], theirs: float | None
) -> list[Value]:
    return [
        Value(setting, _words(condition), measure(arm(condition, setting)), theirs)
        for setting in SETTINGS
        for condition in AT_100MS
    ]


def _fack(evidence: Evidence) -> Figure:
    values = [
        Value(_words(condition), word, mean_delay(evidence, arm(condition), "all"))
        for condition in AT_100MS
        for word, arm in (("a connection for each player", simplex), ("one connection", multiplexed))
    ]
    return bars(Heading("Fig. 4", "delay of retransmissions with FACK, 100 ms", ALL), {"": (values, "ms")})


def _timeouts(evidence: Evidence) -> Figure:
    groups = {
        f"{ms} ms, {word} retransmission": (_by_timer(evidence, ms, number), "ms")
        for ms in (100, 300)
        for number, word in ((1, "first"), (2, "second"), (3, "third"))
    }
    return bars(Heading("Fig. 5", "standard and modified timeout, New Reno with FACK", ALONE), groups)


def _by_timer(evidence: Evidence, ms: int, number: int) -> list[Value]:
    return [
        Value(_words(condition), word, found)
        for condition in GRID
        if condition.delay == ms
        for word, arm in (("standard", simplex), ("modified", modified))
        if len(found := delay(evidence, arm(condition), number))
    ]


def _words(condition: Condition) -> str:
    return f"{condition.loss} % lost, ±{condition.jitter} %"
