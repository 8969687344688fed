"""Further research that the slides name: peer to peer, both ends, other queues, the modem, varying traffic."""

from __future__ import annotations

import json

import numpy as np

from gamelane import _native, experiment
from gamelane.claims import Claim, findings
from gamelane.claims.burriss2006.arms import CELLS, Column, check, loss, none, prioritised, throughput
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, cannot_tell

PEERS = ("first", "second", "third")


@check("f.ux")
def users(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        "needs players. docs/claims/burriss2006.md has a protocol for a blind test with `gamelane impair trial`"
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
def in_the_modem(evidence: Evidence, claim: Claim) -> Finding:
    modem = {"gateway.up.queue": "fifo", "gateway.shape": "{}", "gateway.modem.queue": "priority"}
    arms = {cell: prioritised(cell).with_(modem) for cell in CELLS}
    own = evidence.beside("modem", times=4)
    found, lost = _lost(own, list(arms.values()), claim)
    delays = own.values(arms["2t2u"], DELAY)
    return Finding(
        found.outcome,
        f"lost {lost} % in the four tables; delay with two of each {findings.number(delays)} ms, TCP"
        f" {findings.number(throughput(own, arms['2t2u']))} kbit/s",
        "the modem knows the cost of each packet. There five slots per queue are enough, and no rate has to be found."
        " Over four times as many seeds",
    )


@check("f.bandwidth")
def bandwidth_based(evidence: Evidence, claim: Claim) -> Finding:
    return _classes(evidence, claim, "drr", "one full packet per turn each")


@check("f.class")
def class_based(evidence: Evidence, claim: Claim) -> Finding:
    return _classes(evidence, claim, "htb", "a guaranteed rate for UDP, which borrows the rest")


def _classes(evidence: Evidence, claim: Claim, queue: str, what: str) -> Finding:
    """Judge a queue of classes on the bridge instead of strict priority."""
    strict = [prioritised(cell) for cell in CELLS]
    classes = [arm.with_({"gateway.up.queue": queue}) for arm in strict]
    evidence.prepare([*strict, *classes])
    found, lost = _lost(evidence, classes, claim)
    delays = [", ".join(f"{evidence.values(arm, DELAY).mean():.0f}" for arm in arms) for arms in (classes, strict)]
    return Finding(
        found.outcome,
        f"{queue}: lost {lost} %, delay {delays[0]} ms in the four tables; strict priority {delays[1]} ms",
        what,
    )


def _lost(evidence: Evidence, arms: list[Arm], claim: Claim) -> tuple[Finding, str]:
    """Judge whether all UDP streams lose little in each arm, and return the losses as text."""
    evidence.prepare(arms)
    lost = [loss(evidence, Column(arm)) for arm in arms]
    found = findings.all_of(*(findings.below(each, claim.limits["percent"], "%") for each in lost))
    return found, ", ".join(f"{each.mean():.2g}" for each in lost)


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
