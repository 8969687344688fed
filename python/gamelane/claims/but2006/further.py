"""Further work the paper names: priority for ACKs, priority in the modem, and games found by their behaviour."""

from __future__ import annotations

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    ACKS_FILTERED,
    ACKS_FIRST,
    DOCSIS_1_0,
    DOWNLOAD,
    DOWNLOAD_ALONE,
    FIFO,
    GAME,
    IN_THE_MODEM,
    PRIORITY,
    UPLOAD,
    check,
    game_delay,
    game_loss,
    throughput,
)
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding

DETECTED = PRIORITY.with_(
    {
        "gateway.up.queue": "priority",
        "gateway.class": '[{ name = "first" }, { name = "rest" }]',
        "gateway.rule": '[{ class = "first", behaviour = "real-time" }]',
    }
)


@check("f.ackprio")
def ack_priority(evidence: Evidence, claim: Claim) -> Finding:
    arms = {"priority": PRIORITY, "ACKs second": ACKS_FIRST, "ACKs second and filtered": ACKS_FILTERED}
    rows = [
        f"{name}: download {throughput(evidence, arm, DOWNLOAD).mean():.0f}, upload"
        f" {throughput(evidence, arm, UPLOAD).mean():.0f} kbit/s, game {game_delay(evidence, arm).mean():.0f} ms and"
        f" {game_loss(evidence, arm).mean():.2g} % lost"
        for name, arm in arms.items()
    ]
    return findings.above(
        100 * throughput(evidence, ACKS_FIRST, DOWNLOAD) / throughput(evidence, DOWNLOAD_ALONE, DOWNLOAD),
        claim.limits["percent"],
        "% of its throughput alone",
        "; ".join(rows),
    )


@check("f.inmodem")
def in_modem(evidence: Evidence, _: Claim) -> Finding:
    old = [arm.with_(DOCSIS_1_0 | {"gateway.modem.limit": "50p"}) for arm in (PRIORITY, IN_THE_MODEM)]
    evidence.prepare(old)
    rates = [throughput(evidence, arm, UPLOAD) for arm in (PRIORITY, IN_THE_MODEM)]
    return findings.less(
        "in the modem",
        game_delay(evidence, IN_THE_MODEM),
        "at the bridge",
        game_delay(evidence, PRIORITY),
        "ms",
        f"the upload has {findings.number(rates[1])} and {findings.number(rates[0])} kbit/s. With a modem without"
        f" concatenation, of 50 slots: {findings.number(game_delay(evidence, old[1]))} and"
        f" {findings.number(game_delay(evidence, old[0]))} ms",
    )


@check("f.autodetect")
def automatic(evidence: Evidence, claim: Claim) -> Finding:
    named = 'priority = ["game"]\n'
    text = evidence.scenario(FIFO).to_toml().replace(named, "")
    own = evidence.beside("detected", lambda: _native.Scenario.parse(text, "but2006-detected.toml", []))
    found, told = game_delay(own, DETECTED), game_delay(evidence, PRIORITY)
    return findings.all_of(
        findings.near(100 * found / told, 100, claim.limits["percent"], "% of the wait of a game that is named"),
        findings.below(100 * own.values(DETECTED, f"flows.{GAME}.up.loss"), claim.limits["loss_percent"], "% lost"),
        why="the rule is our construction. It finds 32 of 39 games and calls within 2.1 s, and takes none of 10 other"
        " flows for a game (docs/models/classify.md)",
    )
