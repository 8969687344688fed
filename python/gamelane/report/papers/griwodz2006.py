"""Figures 2 to 5 of griwodz2006. The paper gives numbers for some of the bars of figure 2 only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane import _native
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
from gamelane.claims.griwodz2006.trace import trace
from gamelane.plot.panels import Figure
from gamelane.report.papers import Theirs
from gamelane.report.papers.pictures import Heading, Value, bars, distribution

WAIT = "Mean time in ms from the first transmission to the retransmission that was acknowledged; lower is better."


def figures(evidence: Evidence, theirs: Theirs) -> list[Figure]:
    """Return the paper's figures in its order."""
    evidence.prepare([multiplexed(condition, setting) for condition in AT_100MS for setting in SETTINGS])
    return [_trace(evidence), _settings(evidence, theirs), _multiplexed(evidence), _fack(evidence), _timeouts(evidence)]


def _trace(evidence: Evidence) -> Figure:
    def means(run: _native.Run) -> Numbers:
        rows = columns(run, "rtt")
        values: Numbers = rows["rtt_ms"]
        return values

    return distribution(
        Heading(
            "Fig. 1",
            "round trips of the connections",
            "Share of round trips at or below a value in ms; further left is better. Our generator was fitted to the"
            " paper's mean of somewhat above 250 ms and its longest of one second.",
        ),
        {"our generator": np.concatenate(evidence.derived(trace(), "picture-rtt", means))},
        "ms",
        [],
    )


def _settings(evidence: Evidence, theirs: Theirs) -> Figure:
    groups = {
        f"{word} retransmission": (
            _by_setting(lambda arm, number=number: delay(evidence, arm, number), simplex, theirs(claim)),  # type: ignore[misc]
            "ms",
        )
        for number, word, claim in ((1, "first", "fig2a"), (2, "second", "fig2b"))
    }
    title = "delay of retransmissions, a connection for each player, 100 ms"
    return bars(Heading("Fig. 2", title, f"{WAIT}"), groups)


def _multiplexed(evidence: Evidence) -> Figure:
    values = _by_setting(lambda arm: mean_delay(evidence, arm, "all"), multiplexed, None)
    return bars(Heading("Fig. 3", "delay of retransmissions, one connection, 100 ms", WAIT), {"": (values, "ms")})


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
    return bars(Heading("Fig. 4", "delay of retransmissions with FACK, 100 ms", WAIT), {"": (values, "ms")})


def _timeouts(evidence: Evidence) -> Figure:
    groups = {
        f"{ms} ms, {word} retransmission": (_by_timer(evidence, ms, number), "ms")
        for ms in (100, 300)
        for number, word in ((1, "first"), (2, "second"), (3, "third"))
    }
    return bars(Heading("Fig. 5", "standard and modified timeout, New Reno with FACK", WAIT), groups)


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
