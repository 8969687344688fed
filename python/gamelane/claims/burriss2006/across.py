"""Claims across the tables, and how strict priority can lose packets."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.burriss2006.arms import (
    CELLS,
    ONE_SECOND,
    Column,
    check,
    loss,
    none,
    prioritised,
    table,
    throughput,
)
from gamelane.claims.burriss2006.tables import judged
from gamelane.claims.but2006.arms import THREE_SLOTS
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell

CAUSES: dict[str, dict[str, str]] = {
    "no change": {},
    "3 slots in the modem": {"gateway.modem.limit": "3p"},
    "MAPs 10 ms apart": {"link.docsis.map_interval": "10ms"},
    "3 slots, MAPs 10 ms apart, a grant for each packet": THREE_SLOTS,
    "a buffer of one second": ONE_SECOND,
    "a bridge that does not shape": {"gateway.shape": "{}"},
}
"""Possible causes of the loss with priority: in the modem behind the bridge, and in the bridge."""


@check("more-tcp")
def more_tcp(evidence: Evidence, _: Claim) -> Finding:
    alike = ", ".join(f"{loss(evidence, Column(none(cell))).mean():.3g}" for cell in ("1t2u", "2t2u"))
    return findings.all_of(
        *(
            findings.less(one, loss(evidence, table(one)[0]), two, loss(evidence, table(two)[0]), "%")
            for one, two in (("1t1u", "2t1u"), ("1t2u", "2t2u"))
        ),
        why="the second pair does not compare like with like: a plain stream beside a prioritised one (1t2u), and two"
        f" plain streams (2t2u). Two plain streams in both: {alike} %",
    )


@check("more-udp-prio")
def more_udp(evidence: Evidence, _: Claim) -> Finding:
    right = {cell: table(cell)[1] for cell in CELLS}
    evidence.prepare([column.with_(keys).arm for keys in CAUSES.values() for column in right.values()])
    rows = []
    for name, keys in CAUSES.items():
        columns = [column.with_(keys) for column in right.values()]
        lost = ", ".join(f"{loss(evidence, column).mean():.2g}" for column in columns)
        tcp = ", ".join(f"{throughput(evidence, column.arm).mean():.0f}" for column in columns)
        rows.append(f"{name}: {lost} %, TCP {tcp} kbit/s")
    return findings.all_of(
        *(
            findings.less(one, loss(evidence, right[one]), two, loss(evidence, right[two]), "%")
            for one, two in (("1t1u", "1t2u"), ("2t1u", "2t2u"))
        ),
        why="strict priority loses nothing, and this modem loses nothing behind it. One that does leaves TCP half or"
        " less. Loss of the prioritised streams in the four tables: " + "; ".join(rows),
    )


@check("tcp-cost")
def cost(evidence: Evidence, claim: Claim) -> Finding:
    changes = [100 * (throughput(evidence, prioritised(cell)) / throughput(evidence, none(cell)) - 1) for cell in CELLS]
    factor = claim.limits["factor"]
    return judged(
        (
            findings.between(change, factor * their, their / factor, "%")
            for change, their in zip(changes, claim.theirs, strict=True)
        ),
        changes,
        "%",
        "the cost is that of the shaper, not of priority. With priority the bridge shapes to 192 kbit/s, without it the"
        f" modem's own rate applies. In a shaped FIFO the change is {_shaping(evidence)} %",
    )


def _shaping(evidence: Evidence) -> str:
    """Return the change of TCP's throughput by the shaper alone in the four tables, in per cent."""
    shaped = (prioritised(cell).with_({"gateway.up.queue": "fifo"}) for cell in CELLS)
    changes = (
        100 * (throughput(evidence, arm) / throughput(evidence, none(cell)) - 1)
        for cell, arm in zip(CELLS, shaped, strict=True)
    )
    return ", ".join(f"{change.mean():.3g}" for change in changes)


@check("tolerance.voip", "tolerance.game")
def tolerance(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        "an opinion about users. A blind test decides it: the same people rate loss alone and jitter alone"
        " (docs/claims/burriss2006.md, user experience)"
    )
