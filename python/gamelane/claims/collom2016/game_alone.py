"""The game alone on the link (Figs. 4 and 5)."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import RTT_MAX, THROUGHPUT_DOWN, THROUGHPUT_UP, alone, check, lost, own_client
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding


@check("alone.rtt")
def alone_rtt(evidence: Evidence, claim: Claim) -> Finding:
    return findings.below(evidence.values(alone(), RTT_MAX), claim.theirs["lt"], "ms at most")


@check("alone.loss")
def alone_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.zero(lost(evidence, alone()), "packets")


@check("alone.throughput")
def alone_throughput(evidence: Evidence, _: Claim) -> Finding:
    return _more_down_than_up(
        evidence,
        alone(),
        "TEACUP's client sends 60 B every 10 ms, five packets for each packet of the server. With the game's own client"
        f" stream: {_more_down_than_up(evidence, own_client(alone())).ours}",
    )


def _more_down_than_up(evidence: Evidence, arm: Arm, why: str = "") -> Finding:
    return findings.less(
        "client to server",
        evidence.values(arm, THROUGHPUT_UP) / 1e3,
        "server to client",
        evidence.values(arm, THROUGHPUT_DOWN) / 1e3,
        "kbit/s",
        why,
    )
