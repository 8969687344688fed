"""Figures 4 to 25 of collom2016. Figures over time show the first seed, as the paper shows one capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gamelane import _native
from gamelane.analysis.decimate import keep_extremes
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    DASH,
    FAST,
    GAME,
    SLOW,
    UPLOAD,
    WEB,
    alone,
    bulk_only,
    dash_only,
    mixed,
    paper,
)
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.plot.panels import Figure
from gamelane.report.papers import Theirs, pictures
from gamelane.report.papers.pictures import Heading

Lines = Mapping[str, tuple[Numbers, Numbers]]

POINTS = 1200
"""Maximum number of points of a line of round trips."""


@dataclass(frozen=True)
class OverTime:
    """What a figure over time shows: its title, its lines from a run, unit and caption."""

    title: str
    measure: Callable[[_native.Run], Lines]
    unit: str
    caption: str


def figures(evidence: Evidence, theirs: Theirs) -> list[Figure]:
    """Return the paper's figures in its order."""
    fifo, pie, codel, fq_codel = (paper(queue) for queue in ("fifo", "pie", "codel", "fq_codel"))
    marks: dict[int, dict[str, str]] = {
        7: {"peak": "fifo.peak"},
        9: {"peak": "pie.peak"},
        10: {"peak": "codel.peak"},
        16: {"maximum": "fqpie.max", "mean": "fqpie.mean"},
        17: {"maximum": "fqcodel.max"},
    }
    rows: list[tuple[int, OverTime, str, Arm]] = [
        (4, GAME_RTT, "alone, no base delay", alone()),
        (5, THROUGHPUT, "alone, no base delay", alone()),
        (6, EVERY_RTT, "all traffic behind FIFO", fifo),
        (7, GAME_RTT, "all traffic behind FIFO", fifo),
        (8, THROUGHPUT, "all traffic behind FIFO", fifo),
        (9, GAME_RTT, "all traffic behind PIE", pie),
        (10, GAME_RTT, "all traffic behind CoDel", codel),
        (11, THROUGHPUT, "all traffic behind CoDel", codel),
        (12, THROUGHPUT, "all traffic behind PIE", pie),
        (13, LOSS, "all traffic behind FIFO", fifo),
        (14, LOSS, "all traffic behind PIE", pie),
        (15, LOSS, "all traffic behind CoDel", codel),
        (16, GAME_RTT, "all traffic behind FQ-PIE", paper("fq_pie")),
        (17, GAME_RTT, "all traffic behind FQ-CoDel", fq_codel),
        (18, THROUGHPUT, "all traffic behind FQ-CoDel", fq_codel),
        (19, LOSS, "all traffic behind FQ-CoDel", fq_codel),
        (22, GAME_RTT, "video behind FIFO", dash_only("fifo")),
        (23, GAME_RTT, "an upload behind FIFO", bulk_only("fifo")),
        (24, LOSS, "an upload behind FIFO", bulk_only("fifo")),
        (25, GAME_RTT, "video behind PIE", dash_only("pie")),
    ]
    drawn = {
        number: _over_time(
            evidence, number, kind, what, arm, {word: theirs(claim) for word, claim in marks.get(number, {}).items()}
        )
        for number, kind, what, arm in rows
    }
    drawn |= {20: _boxes(evidence, 20, SLOW), 21: _boxes(evidence, 21, FAST)}
    return [drawn[number] for number in sorted(drawn)]


def _over_time(  # noqa: PLR0913, PLR0917 - the columns of the list above
    evidence: Evidence, number: int, kind: OverTime, what: str, arm: Arm, theirs: Mapping[str, float]
) -> Figure:
    heading = Heading(f"Fig. {number}", f"{kind.title}, {what}", f"{kind.caption} First seed.")
    first = evidence.derived(arm, kind.title, kind.measure)[0]
    levels = {f"{word} {value:g} {kind.unit}": value for word, value in theirs.items()}
    return pictures.over_time(heading, first, kind.unit, levels)


def _round_trips(*flows: str) -> Callable[[_native.Run], Lines]:
    def measure(run: _native.Run) -> Lines:
        rows = columns(run, "rtt")
        lines = {flow: (rows["t_s"][rows["flow"] == flow], rows["rtt_ms"][rows["flow"] == flow]) for flow in flows}
        keeps = {flow: keep_extremes(t, v, points=POINTS) for flow, (t, v) in lines.items()}
        return {flow: (t[keeps[flow]], v[keeps[flow]]) for flow, (t, v) in lines.items()}

    return measure


def _throughput(run: _native.Run) -> Lines:
    rows = columns(run, "windows")
    ways = {
        word: (rows["flow"] == GAME) & (rows["direction"] == way)
        for way, word in (("up", "client to server"), ("down", "server to client"))
    }
    return {word: (rows["t_s"][own], rows["bytes"][own] * 8 / 1000) for word, own in ways.items()}


def _loss(run: _native.Run) -> Lines:
    rows = columns(run, "windows")
    own = rows["flow"] == GAME
    seconds, place = np.unique(rows["t_s"][own], return_inverse=True)
    sent, lost = (np.bincount(place, rows[key][own]) for key in ("sent", "lost"))
    return {"game": (seconds, 100 * lost / np.maximum(sent, 1))}


ROUND_TRIP = "Round-trip time in ms against seconds; lower is better."
GAME_RTT = OverTime("RTT of the game", _round_trips(GAME), "ms", ROUND_TRIP)
EVERY_RTT = OverTime("RTT of every flow", _round_trips(GAME, UPLOAD, WEB, DASH), "ms", ROUND_TRIP)
THROUGHPUT = OverTime(
    "throughput of the game",
    _throughput,
    "kbit/s",
    "IP packets received in each second, in kbit/s; steadier is better.",
)
LOSS = OverTime(
    "packet loss of the game", _loss, "%", "Packets lost in each second, both directions, in %; lower is better."
)


def _boxes(evidence: Evidence, number: int, link: tuple[str, str]) -> Figure:
    def measure(run: _native.Run) -> Numbers:
        rows = columns(run, "rtt")
        values: Numbers = rows["rtt_ms"][rows["flow"] == GAME]
        return values

    samples = {
        rtt: np.concatenate(evidence.derived(mixed("fq_codel", 1000, link, rtt), "samples", measure)) - _ms(rtt)
        for rtt in BASE_RTTS
    }
    rates = "/".join(rate.removesuffix("mbit") for rate in link)
    heading = Heading(
        f"Fig. {number}",
        f"RTT of the game above its base delay, all traffic behind FQ-CoDel, {rates} Mbit/s",
        "Round-trip times of all runs less the base delay, in ms, by base delay: median, hinges, whiskers to 1.5 box"
        " lengths. A smaller box is better. The paper's axis includes the base delay, which hides the boxes.",
    )
    return pictures.boxes(heading, samples, "ms")


def _ms(rtt: str) -> float:
    return float(rtt.removesuffix("ms"))
