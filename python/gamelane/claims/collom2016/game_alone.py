"""The game alone on the link (Figs. 4 and 5)."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import GAME, RTT_MAX, THROUGHPUT_DOWN, THROUGHPUT_UP, alone, check, lost
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, given


@check("alone.rtt")
def alone_rtt(evidence: Evidence, _: Claim) -> Finding:
    worst = evidence.values(alone(), RTT_MAX)
    return given(float(worst.max()) < 2, f"maximum {findings.number(worst)} ms", "serialisation of single packets")


@check("alone.loss")
def alone_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.zero(lost(evidence, alone()), "packets")


@check("alone.throughput")
def alone_throughput(evidence: Evidence, _: Claim) -> Finding:
    own = alone().with_({f"flow.{GAME}.client": "game"})
    up, down = evidence.values(own, THROUGHPUT_UP) / 1e3, evidence.values(own, THROUGHPUT_DOWN) / 1e3
    finding = findings.less(
        "client to server",
        evidence.values(alone(), THROUGHPUT_UP) / 1e3,
        "server to client",
        evidence.values(alone(), THROUGHPUT_DOWN) / 1e3,
        "kbit/s",
    )
    return Finding(
        finding.outcome,
        finding.ours,
        "TEACUP's client sends 60 B every 10 ms, five packets for each packet of the server. With the game's own client"
        f" stream it is {findings.number(up)} up and {findings.number(down)} kbit/s down, as the paper says",
    )
