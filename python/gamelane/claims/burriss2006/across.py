"""Claims across the tables, and how strict priority can lose 10 to 25 %."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.burriss2006.arms import CELLS, REFERENCE_MODEM, check, loss, none, prioritised
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell, given

CAUSES: dict[str, dict[str, str]] = {
    "no change": {},
    "4 slots in the modem": {"gateway.modem.limit": "4p"},
    "MAPs 6 ms apart": {"link.docsis.map_interval": "6ms"},
    "with concatenation": {"link.docsis.concatenation": "true"},
    "the reference modem": REFERENCE_MODEM,
    "the reference modem, one stream of two in the rule": REFERENCE_MODEM | {"gateway.priority": '["game"]'},
    "one stream of two in the rule": {"gateway.priority": '["game"]'},
    "a bridge that does not shape": {"gateway.shape": "{}"},
}
"""Possible causes of the loss: on the bridge with priority, and in the modem behind it."""


@check("more-tcp")
def more_tcp(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        *(
            findings.less(one, loss(evidence, none(one)), two, loss(evidence, none(two)), "%")
            for one, two in (("1t1u", "2t1u"), ("1t2u", "2t2u"))
        )
    )


@check("more-udp-prio")
def more_udp(evidence: Evidence, _: Claim) -> Finding:
    evidence.prepare([prioritised(cell).with_(keys) for keys in CAUSES.values() for cell in CELLS])
    rows = [
        f"{name}: {', '.join(f'{loss(evidence, prioritised(cell).with_(keys)).mean():.2g}' for cell in CELLS)}"
        for name, keys in CAUSES.items()
    ]
    one, two = (
        np.concatenate([loss(evidence, prioritised(cell)) for cell in cells])
        for cells in (("1t1u", "2t1u"), ("1t2u", "2t2u"))
    )
    return given(
        float(two.mean()) > 1 > float(one.mean()),
        f"{findings.number(one)} % with one stream, {findings.number(two)} % with two",
        "the modem behind the bridge loses these packets, not the priority queue. The modem waits 10 to 20 ms for its"
        " grant. In this time two streams and an upload bring more than three packets, and the bridge counts only"
        " bytes. Loss in the four tables with priority (theirs 0.027, 0.18, 10, 25.5 %): " + "; ".join(rows),
    )


@check("tolerance.voip", "tolerance.game")
def tolerance(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("an opinion about users; only a test with listeners and players can decide it")
