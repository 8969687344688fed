"""Further research that the slides name: peer to peer, both ends, other queues, the modem, varying traffic."""

from __future__ import annotations

import json

import numpy as np

from gamelane import _native, experiment
from gamelane.claims import Claim, findings
from gamelane.claims.burriss2006.arms import (
    CELLS,
    REFERENCE_MODEM,
    check,
    loss,
    none,
    prioritised,
    throughput,
)
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, cannot_tell, given

PEERS = ("first", "second", "third")


@check("f.ux")
def users(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        "needs users; gamelane.analysis.quality grades delay, jitter and loss by published studies of players"
    )


@check("f.p2p")
def peer_to_peer(evidence: Evidence, _: Claim) -> Finding:
    own = evidence.beside("hosted-match", lambda: experiment.load("hosted-match").scenario)
    fifo = Arm.of({})
    first = Arm.of({"gateway.up.queue": "priority", "gateway.priority": json.dumps(PEERS)})
    delays, lost = (
        [_over_peers(own, arm, f"up.{what}") for arm in (first, fifo)] for what in ("queue_delay_ms.mean", "loss")
    )
    return findings.all_of(
        findings.less(
            "wait of the updates from a host with three peers: with priority", delays[0], "without", delays[1], "ms"
        ),
        findings.less("lost: with priority", 100 * lost[0], "without", 100 * lost[1], "%"),
    )


def _over_peers(evidence: Evidence, arm: Arm, path: str) -> Numbers:
    return np.asarray(np.mean([evidence.values(arm, f"flows.{peer}.{path}") for peer in PEERS], axis=0))


@check("f.bothends")
def both_ends(evidence: Evidence, _: Claim) -> Finding:
    own = evidence.beside("but2006", lambda: experiment.load("but2006").scenario)
    up = Arm.of({"gateway.up.acks": "prioritise", "flow.download.tcp.receive_window": "256KiB"})
    both = up.with_({"gateway.down.queue": "priority"})
    own.prepare([up, both])
    round_trips = [own.values(arm, "flows.game.rtt_ms.mean") for arm in (both, up)]
    return findings.less(
        "mean round trip of the game with priority at both ends",
        round_trips[0],
        "upstream alone",
        round_trips[1],
        "ms",
        "in but2006, with a download whose window of 256 KiB fills the provider's queue. With its 32 KiB there is no"
        " queue downstream, and so no gain",
    )


@check("f.modem")
def in_the_modem(evidence: Evidence, _: Claim) -> Finding:
    modem = {"gateway.up.queue": "fifo", "gateway.shape": "{}", "gateway.modem.queue": "priority"}
    arms = {cell: prioritised(cell).with_(modem) for cell in CELLS}
    evidence.prepare(list(arms.values()))
    lost = {cell: loss(evidence, arm) for cell, arm in arms.items()}
    delays = evidence.values(arms["2t2u"], "flows.game.up.queue_delay_ms.mean")
    return given(
        all(float(each.mean()) < 1 for each in lost.values()),
        "lost in the four tables: "
        + ", ".join(f"{each.mean():.2g}" for each in lost.values())
        + f" %; delay with two of each {findings.number(delays)} ms, TCP"
        f" {findings.number(throughput(evidence, arms['2t2u']))} kbit/s",
        "the modem knows the cost of each packet. There three slots per queue are enough, and no rate has to be found",
    )


@check("f.bandwidth")
def bandwidth_based(evidence: Evidence, _: Claim) -> Finding:
    return _classes(evidence, "drr", "one full packet per turn each")


@check("f.class")
def class_based(evidence: Evidence, _: Claim) -> Finding:
    return _classes(evidence, "htb", "a guaranteed rate for UDP, which borrows the rest")


def _classes(evidence: Evidence, queue: str, what: str) -> Finding:
    """Judge a queue of classes on the bridge instead of strict priority, in front of the reference modem."""
    arms = {
        cell: {
            "priority": prioritised(cell).with_(REFERENCE_MODEM),
            queue: prioritised(cell).with_(REFERENCE_MODEM | {"gateway.up.queue": queue}),
        }
        for cell in CELLS
    }
    evidence.prepare([arm for cell in arms.values() for arm in cell.values()])
    lost = [float(loss(evidence, arms[cell][queue]).mean()) for cell in CELLS]
    delays = {
        name: [float(evidence.values(arms[cell][name], DELAY).mean()) for cell in CELLS] for name in ("priority", queue)
    }
    return given(
        max(lost) < 1,
        f"{queue}: lost {', '.join(f'{each:.2g}' for each in lost)} %, delay"
        f" {', '.join(f'{each:.0f}' for each in delays[queue])} ms in the four tables; strict priority"
        f" {', '.join(f'{each:.0f}' for each in delays['priority'])} ms",
        f"{what}, in front of the reference modem. A modem of three slots loses as much behind this queue as behind"
        " priority",
    )


DELAY = "flows.game.up.queue_delay_ms.mean"


@check("f.vbr")
def varying(evidence: Evidence, _: Claim) -> Finding:
    text = _with_a_game(evidence.base.to_toml())
    own = evidence.beside("varying", lambda: _native.Scenario.parse(text, "burriss2006-varying.toml", []))
    cell = "1t1u"
    lost = [own.values(arm, "flows.game.up.loss") * 100 for arm in (none(cell), prioritised(cell))]
    return findings.less(
        "lost with priority",
        lost[1],
        "without",
        lost[0],
        "%",
        "Counter-Strike's model instead of the constant stream: the effect of priority does not depend on a constant"
        " rate",
    )


def _with_a_game(text: str) -> str:
    """Return the scenario with a game of varying packets instead of the first UDP stream."""
    head, flow, rest = text.partition("[[flow]]")
    mine, marker, others = rest.partition("[[flow]]")
    del mine
    return f'{head}{flow}\nname = "game"\napp = "game"\nmodel = "hlcs"\nhost = "client"\n\n{marker}{others}'
