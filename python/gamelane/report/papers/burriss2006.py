"""The four tables of burriss2006, row by row."""

from __future__ import annotations

from gamelane.claims.burriss2006.arms import CELLS, table, tcp_arms, throughput
from gamelane.claims.burriss2006.tables import value
from gamelane.claims.evidence import Evidence
from gamelane.plot.panels import Figure
from gamelane.report.papers import Theirs
from gamelane.report.papers.pictures import Heading, Value, bars

SERIES = ("without priority", "with priority")
ONE_OF_TWO = "one stream of two with priority"
ROWS = {
    "loss": ("UDP lost", "%"),
    "jitter": ("UDP jitter", "ms"),
    "received": ("UDP packets received", "packets"),
    "maxia": ("longest UDP interarrival", "ms"),
    "ia": ("mean UDP interarrival", "ms"),
}
LABELS = {cell: f"{tcp} TCP, {udp} UDP" for cell, (tcp, udp) in CELLS.items()}


def figures(evidence: Evidence, theirs: Theirs) -> list[Figure]:
    """Return one figure with a panel for each row of the tables."""
    heading = Heading(
        "Tables",
        "streams upstream, without and with priority",
        "Means over runs, of the streams of a kind. Of packets received and of TCP, higher is better; of the others,"
        " lower. In the table of 1 TCP and 2 UDP streams, the two columns are the plain and the prioritised stream of"
        " one run.",
    )
    groups = {title: (_row(evidence, name, theirs), unit) for name, (title, unit) in ROWS.items()}
    return [bars(heading, {"TCP throughput": (_tcp(evidence, theirs), "kbit/s")} | groups)]


def _row(evidence: Evidence, name: str, theirs: Theirs) -> list[Value]:
    return [
        Value(label, of, value(evidence, column, name), their)
        for cell, label in LABELS.items()
        for of, column, their in zip(SERIES, table(cell), theirs(f"{cell}.{name}"), strict=True)
    ]


def _tcp(evidence: Evidence, theirs: Theirs) -> list[Value]:
    values = []
    for cell, label in LABELS.items():
        runs = tcp_arms(cell)
        words = SERIES if len(runs) == len(SERIES) else (SERIES[0], ONE_OF_TWO, SERIES[1])
        values += [
            Value(label, of, throughput(evidence, arm), their)
            for of, arm, their in zip(words, runs, theirs(f"{cell}.tcp"), strict=True)
        ]
    return values
