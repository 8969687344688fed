"""Figure 5 of but2006, and the bars of figures 3 and 4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gamelane import _native
from gamelane.claims.but2006.arms import DOWNLOAD, FIFO, PRIORITY, UPLOAD, round_trip, throughput
from gamelane.claims.evidence import Evidence, Numbers, columns
from gamelane.plot.panels import Figure
from gamelane.report.papers import Theirs
from gamelane.report.papers.pictures import Heading, Value, bars, distribution

Given = Sequence[float | None]

ARMS = {"FIFO": FIFO, "priority": PRIORITY}


def figures(evidence: Evidence, theirs: Theirs) -> list[Figure]:
    """Return the paper's figures in its order."""
    return [
        _tcp(evidence, 3, "downstream", DOWNLOAD, (theirs("pq.down-thr"), theirs("pq.down-rtt"))),
        _tcp(evidence, 4, "upstream", UPLOAD, (theirs("pq.up-thr"), (None, None))),
        _delay(evidence, theirs),
    ]


def _tcp(evidence: Evidence, number: int, way: str, flow: str, theirs: tuple[Given, Given]) -> Figure:
    rates = [
        Value("", word, throughput(evidence, arm, flow), value)
        for (word, arm), value in zip(ARMS.items(), theirs[0], strict=True)
    ]
    waits = [
        Value("", word, round_trip(evidence, arm, flow), value)
        for (word, arm), value in zip(ARMS.items(), theirs[1], strict=True)
    ]
    heading = Heading(
        f"Fig. {number}",
        f"throughput and round trip of the {way} TCP",
        "Means over the runs. Throughput in kbit/s: higher is better. Round trip in ms at the sender: lower is better."
        + (" The paper's 10 ms upstream were measured behind the queue." if number == 4 else ""),
    )
    return bars(heading, {"throughput": (rates, "kbit/s"), "round trip": (waits, "ms")})


def _delay(evidence: Evidence, theirs: Theirs) -> Figure:
    def measure(run: _native.Run) -> Numbers:
        rows = columns(run, "delay")
        own = (rows["flow"] == "game") & (rows["direction"] == "up") & (rows["t_s"] >= evidence.base.warmup_s)
        values: Numbers = rows["queue_delay_ms"][own]
        return values

    return distribution(
        Heading(
            "Fig. 5",
            "queueing delay of the game, upstream",
            "Share of delivered packets that waited at most this long, in ms, all runs; further left is better.",
        ),
        {word: np.concatenate(evidence.derived(arm, "picture-delay", measure)) for word, arm in ARMS.items()},
        "ms",
        [
            ("paper: median with FIFO", theirs("pq.delay.fifo-median"), 0.5),
            ("paper: 75 % with priority", theirs("pq.delay.prio-p75")["lt"], 0.75),
        ],
    )
