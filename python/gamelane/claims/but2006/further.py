"""Further work the paper names: priority for ACKs."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    ACKS_FILTERED,
    ACKS_FIRST,
    DOWNLOAD,
    DOWNLOAD_ALONE,
    PRIORITY,
    UPLOAD,
    check,
    game_delay,
    game_loss,
    throughput,
)
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, given


@check("f.ackprio")
def ack_priority(evidence: Evidence, _: Claim) -> Finding:
    arms = {"priority": PRIORITY, "ACKs second": ACKS_FIRST, "ACKs second and filtered": ACKS_FILTERED}
    rows = [
        f"{name}: download {throughput(evidence, arm, DOWNLOAD).mean():.0f}, upload"
        f" {throughput(evidence, arm, UPLOAD).mean():.0f} kbit/s, game {game_delay(evidence, arm).mean():.0f} ms and"
        f" {game_loss(evidence, arm).mean():.2g} % lost"
        for name, arm in arms.items()
    ]
    back = throughput(evidence, ACKS_FIRST, DOWNLOAD) / throughput(evidence, DOWNLOAD_ALONE, DOWNLOAD)
    return given(
        float(back.mean()) > 0.9,
        "; ".join(rows),
        f"the download reaches {findings.number(100 * back)} % of its rate alone, at no cost for the game",
    )
