"""The claims about the game's loss, and the buffers and modems that were tried for them.

A FIFO in the bridge loses a few per cent. A modem that sends one packet a grant and has few slots loses a fifth and
more, of the game and of TCP alike: a row of the game's small packets fills its slots, and a full packet that comes next
finds none.
"""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import FIFO, PRIORITY, THREE_SLOTS, UPLOAD, check, game_delay, game_loss, throughput
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding

MAP_10MS = {"link.docsis.map_interval": "10ms"}
TRIED = {
    "bridge 20 slots": {"gateway.up.limit": "20p"},
    "bridge 100 slots": {"gateway.up.limit": "100p"},
    "bridge 32 KiB instead of slots": {"gateway.up.limit": "32KiB"},
    "an ACK for each segment": {"tcp.delayed_ack": "off"},
    "modem 5 slots, as in burriss2006": {"gateway.modem.limit": "5p"},
    "MAPs 10 ms apart": MAP_10MS,
    "MAPs 10 ms apart, modem 5 slots": MAP_10MS | {"gateway.modem.limit": "5p"},
    "MAPs 10 ms apart, modem 3 slots": MAP_10MS | {"gateway.modem.limit": "3p"},
    "the same, a grant for each packet": THREE_SLOTS,
    "the same, MAPs 6 ms apart": THREE_SLOTS | {"link.docsis.map_interval": "6ms"},
}
"""Changes to the scenario, one at a time."""


@check("pq.loss")
def loss(evidence: Evidence, claim: Claim) -> Finding:
    evidence.prepare([arm.with_(keys) for keys in TRIED.values() for arm in (FIFO, PRIORITY)])
    tried = []
    for name, keys in TRIED.items():
        pair = [arm.with_(keys) for arm in (FIFO, PRIORITY)]
        lost = " and ".join(f"{game_loss(evidence, arm).mean():.2g}" for arm in pair)
        upload = " and ".join(f"{throughput(evidence, arm, UPLOAD).mean():.0f}" for arm in pair)
        tried.append(f"{name} {lost} %, upload {upload} kbit/s")
    fifo, _ = claim.theirs
    factor = claim.limits["factor"]
    return findings.all_of(
        findings.between(game_loss(evidence, FIFO), fifo / factor, fifo * factor, "% with FIFO"),
        findings.below(game_loss(evidence, PRIORITY), claim.limits["percent"], "% with priority"),
        why="a FIFO in the bridge alone cannot both lose 28 % and delay packets by a second, whatever its size. A modem"
        " that loses a fifth without priority also loses with it, and the upload loses half or more: "
        + "; ".join(tried),
    )


@check("pq.loss.sign")
def loss_sign(evidence: Evidence, claim: Claim) -> Finding:
    factor = claim.limits["factor"]
    return findings.less(
        f"{factor:g} times the loss with priority",
        factor * game_loss(evidence, PRIORITY),
        "loss with FIFO",
        game_loss(evidence, FIFO),
        "%",
    )


@check("pq.summary")
def summary(evidence: Evidence, claim: Claim) -> Finding:
    theirs, percent = claim.theirs, claim.limits["percent"]
    return findings.all_of(
        findings.near(game_loss(evidence, FIFO), theirs["loss_percent"], percent, "%"),
        findings.near(game_delay(evidence, FIFO) / 1e3, theirs["fifo_s"], percent, "s"),
        findings.below(game_delay(evidence, PRIORITY), theirs["priority_ms"]["lt"], "ms"),
        why="repeats section IV.B: see pq.loss and pq.delay.fifo-mean",
    )
