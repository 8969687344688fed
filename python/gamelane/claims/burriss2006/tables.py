"""The four tables, cell by cell: without and with priority, theirs beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gamelane.claims import Claim, Paper, findings
from gamelane.claims.burriss2006.arms import CELLS, check, loss, none, prioritised, received, streams, throughput
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, all_of, given, number
from gamelane.claims.register import Check

ORDER_OF_MAGNITUDE = 10**0.5
"""Between a third and three times."""


@dataclass(frozen=True)
class Row:
    """A row of each table: how to read it from an arm, and how close our value must be."""

    read: Callable[[Evidence, Arm], Numbers]
    unit: str
    tolerance: float
    """A fraction either way, or a factor if above 1."""
    why: str = ""


def _of(key: str) -> Callable[[Evidence, Arm], Numbers]:
    return lambda evidence, arm: streams(evidence, arm)[key]


ROWS = {
    "tcp": Row(throughput, "kbit/s per stream", 0.30),
    "loss": Row(loss, "%", ORDER_OF_MAGNITUDE, "see more-udp-prio for the columns with priority"),
    "jitter": Row(
        _of("jitter"),
        "ms",
        0.30,
        "jitter is the difference between the waits of successive packets. Without priority theirs is more than two"
        " full packets, so their TCP came in bursts",
    ),
    "received": Row(received, "packets", 0.10, "follows from the loss"),
    "maxia": Row(
        _of("max"),
        "ms",
        ORDER_OF_MAGNITUDE,
        "the longest gap comes from the longest run of losses or the longest delay in ten minutes. A modem alone on its"
        " channel never delays a packet by 200 ms; theirs did, even with one prioritised stream",
    ),
    "ia": Row(_of("mean"), "ms", 0.10, "600 s over the packets received"),
}


def _cell(cell: str, name: str) -> Check:
    row = ROWS[name]

    def judge(evidence: Evidence, _: Claim) -> Finding:
        theirs = _theirs(f"burriss2006.{cell}.{name}")
        found = []
        for their, arm in zip((theirs[0], theirs[-1]), (none(cell), prioritised(cell)), strict=True):
            own = row.read(evidence, arm)
            found.append(given(_near(float(own.mean()), their, row.tolerance), number(own)))
        joined = all_of(*found)
        why = row.why if joined.outcome != "reproduced" else ""
        return Finding(joined.outcome, f"{found[0].ours} and {found[1].ours} {row.unit}", why)

    check(f"{cell}.{name}")(judge)
    return judge


def _theirs(claim: str) -> list[float]:
    theirs: list[float] = next(each for each in Paper.read("burriss2006").claims if each.id == claim).theirs
    return theirs


def _near(ours: float, theirs: float, tolerance: float) -> bool:
    if tolerance <= 1:
        return abs(ours - theirs) <= tolerance * theirs
    # A loss below one per cent counts as no loss: the tables' 0.027 % are four packets.
    return (ours < 1 and theirs < 1) or theirs / tolerance <= ours <= theirs * tolerance


def _signs(cell: str) -> Check:
    def judge(evidence: Evidence, _: Claim) -> Finding:
        before, after = none(cell), prioritised(cell)
        less = [
            findings.less(
                f"{name} with", ROWS[name].read(evidence, after), "without", ROWS[name].read(evidence, before), unit
            )
            for name, unit in (("loss", "%"), ("jitter", "ms"), ("maxia", "ms"), ("tcp", "kbit/s"))
        ]
        more = findings.less("received without", received(evidence, before), "with", received(evidence, after), "")
        return all_of(
            *less, more, why="all have the sign of the tables except jitter; its cause is that of the rows above"
        )

    check(f"{cell}.signs")(judge)
    return judge


for _name in CELLS:
    for _row in ROWS:
        _cell(_name, _row)
    _signs(_name)


@check("tcp-cost")
def cost(evidence: Evidence, _: Claim) -> Finding:
    theirs = _theirs("burriss2006.tcp-cost")
    ours = [
        float((100 * (throughput(evidence, prioritised(cell)) / throughput(evidence, none(cell)) - 1)).mean())
        for cell in CELLS
    ]
    near = [_near(-own, -their, ORDER_OF_MAGNITUDE) for own, their in zip(ours, theirs, strict=True)]
    return given(
        bool(np.all(near)),
        ", ".join(f"{own:.1f}" for own in ours) + " %",
        "most of the cost is not priority: with priority the bridge shapes to 192 kbit/s, without it"
        " the modem's own rate applies",
    )
