"""How a setup can lose 28 %: the claims about the game's loss, and the modems that were tried for them.

A FIFO in the bridge loses a few per cent. But its packets leave in rows: game packets that arrive between two full TCP
packets leave behind them, 5 ms apart. A modem that waits 10 to 20 ms for its grant and has few slots cannot hold such a
row. With priority the game's packets leave as they arrive, so there are no rows.
"""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import FIFO, MODEM_1_0, PRIORITY, check, game_delay, game_loss
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding

MAP_10MS = {"link.docsis.map_interval": "10ms"}
TRIED = {
    "bridge 20 slots": {"gateway.up.limit": "20p"},
    "bridge 100 slots": {"gateway.up.limit": "100p"},
    "bridge 32 KiB instead of slots": {"gateway.up.limit": "32KiB"},
    "an ACK for each segment": {"tcp.delayed_ack": "off"},
    "modem 3 slots": {"gateway.modem.limit": "3p"},
    "MAPs 10 ms apart": MAP_10MS,
    "modem 3 slots and MAPs 10 ms apart": MAP_10MS | {"gateway.modem.limit": "3p"},
    "the same and a grant for each packet": MODEM_1_0,
    "the same with 2 slots": MODEM_1_0 | {"gateway.modem.limit": "2p"},
    "the same with 4 slots": MODEM_1_0 | {"gateway.modem.limit": "4p"},
    "the same with 5 slots": MODEM_1_0 | {"gateway.modem.limit": "5p"},
}
"""Changes to the scenario, one at a time."""


@check("pq.loss")
def loss(evidence: Evidence, claim: Claim) -> Finding:
    evidence.prepare([arm.with_(keys) for keys in TRIED.values() for arm in (FIFO, PRIORITY)])
    tried = []
    for name, keys in TRIED.items():
        pair = [game_loss(evidence, arm.with_(keys)).mean() for arm in (FIFO, PRIORITY)]
        tried.append(f"{name} {pair[0]:.2g} and {pair[1]:.2g} %")
    fifo, _ = claim.theirs
    factor = claim.limits["factor"]
    return findings.all_of(
        findings.between(game_loss(evidence, FIFO), fifo / factor, fifo * factor, "% with FIFO"),
        findings.below(game_loss(evidence, PRIORITY), claim.limits["percent"], "% with priority"),
        why="a FIFO in the bridge alone cannot both lose 28 % and delay packets by a second, whatever its size. With a"
        " modem of a few slots behind it, it can: " + "; ".join(tried),
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
