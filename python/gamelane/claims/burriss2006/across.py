"""What the tables say together, and how strict priority can come with 10 to 25 % of loss."""

from __future__ import annotations

import numpy as np

from gamelane.claims import findings
from gamelane.claims.burriss2006.arms import CELLS, REFERENCE_MODEM, check, loss, none, prioritised
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell, given

CAUSES: dict[str, dict[str, str]] = {
    "as it is": {},
    "4 slots in the modem": {"gateway.modem.limit": "4p"},
    "MAPs 6 ms apart": {"link.docsis.map_interval": "6ms"},
    "with concatenation": {"link.docsis.concatenation": "true"},
    "the reference's modem": REFERENCE_MODEM,
    "that and one stream of two in the rule": REFERENCE_MODEM | {"gateway.priority": '["game"]'},
    "one stream of two in the rule": {"gateway.priority": '["game"]'},
    "a bridge that does not shape": {"gateway.shape": "{}"},
}
"""What may have happened on the bridge with priority, and in the modem behind it."""


@check("more-tcp")
def more_tcp(evidence: Evidence) -> Finding:
    return findings.all_of(
        *(
            findings.less(one, loss(evidence, none(one)), two, loss(evidence, none(two)), "%")
            for one, two in (("1t1u", "2t1u"), ("1t2u", "2t2u"))
        )
    )


@check("more-udp-prio")
def more_udp(evidence: Evidence) -> Finding:
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
        "priority loses none of it, the modem behind it does: until its grant comes, 10 to 20 ms, two streams and an"
        " upload"
        " bring more than three packets, and the bridge counts bytes. Loss in the four tables with priority (theirs"
        " 0.027, 0.18,"
        " 10, 25.5 %): " + "; ".join(rows),
    )


@check("tolerance.voip", "tolerance.game")
def tolerance(_: Evidence) -> Finding:
    return cannot_tell("an opinion about users; it needs listeners and players")
