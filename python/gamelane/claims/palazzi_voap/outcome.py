"""Figs. 2 and 3 and the claims about them: throughput kept, short queues, no loss, a full link."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding
from gamelane.claims.palazzi_voap.arms import (
    FLOWS,
    GAMES,
    GOODPUT,
    WAITING,
    averaged,
    check,
    for_all_games,
    queue_delay,
    regular,
    voap,
)

NEVER_EMPTY = {"gateway.down.limit": "6000p"}
"""A buffer that holds the whole window of the download, so the radio always has a packet to send."""


def prefetched() -> list[Arm]:
    """Return the arms that tell how much the radio can carry."""
    return [arm for game in GAMES for arm in (voap(game), regular(game).with_(NEVER_EMPTY))]


@check("thr")
def throughput(evidence: Evidence, claim: Claim) -> Finding:
    runs = averaged(evidence)

    def one(game: str) -> Finding:
        before, after = (runs.values(arm(game), GOODPUT) / 1e6 for arm in (regular, voap))
        found = findings.above(100 * after / before, claim.limits["percent"], "%")
        both = f"regular {findings.number(before)}, VoAP {findings.number(after)} Mbit/s"
        return Finding(found.outcome, f"{both}, {found.ours}", found.why)

    return for_all_games(one)


@check("delay")
def delay(evidence: Evidence, claim: Claim) -> Finding:
    runs = averaged(evidence)

    def one(game: str) -> Finding:
        before, after = (queue_delay(runs, arm(game)) for arm in (regular, voap))
        waiting = [runs.values(arm(game), WAITING).mean() for arm in (regular, voap)]
        found = findings.above(before / after, claim.limits["times"], "times shorter")
        both = f"regular {findings.number(before)}, VoAP {findings.number(after)} ms"
        packets = f"{waiting[0]:.0f} and {waiting[1]:.0f} packets waiting"
        return Finding(found.outcome, f"{both}, {found.ours}, {packets}", found.why)

    return for_all_games(one)


@check("regular-bad")
def regular_is_bad(evidence: Evidence, claim: Claim) -> Finding:
    runs = averaged(evidence)
    return for_all_games(lambda game: findings.above(queue_delay(runs, regular(game)), claim.theirs["gt"], "ms"))


@check("noloss")
def no_loss(evidence: Evidence, claim: Claim) -> Finding:
    runs = averaged(evidence)

    def drops(arm: Arm) -> Numbers:
        return runs.values(arm, "queues.down.drops.tail")

    def percent_lost(arms: list[Arm]) -> Numbers:
        shares = [100 * drops(arm) / runs.values(arm, "queues.down.packets") for arm in arms]
        return np.asarray(np.mean(shares, axis=0))

    before, after = ([arm(game) for game in GAMES] for arm in (regular, voap))
    lost = np.array([drops(arm) for arm in after])
    few = findings.below(percent_lost(after), claim.limits["percent"], "% of packets")
    return findings.all_of(
        Finding(few.outcome, None, few.why),
        findings.less("VoAP", percent_lost(after), "regular", percent_lost(before), "% of packets"),
        why=f"{(lost > 0).sum()} of {lost.size} runs with VoAP lose packets, at most {lost.max():.0f}, in slow start."
        " If the first delay above beta comes late, windows of up to three times the flight have already been"
        " advertised and cannot be taken back. This limit of three times (the leash) was chosen to avoid such losses",
    )


@check("util")
def utilisation(evidence: Evidence, claim: Claim) -> Finding:
    def carried(arm: Arm) -> Numbers:
        flows = [evidence.values(arm, f"flows.{flow}.down.throughput_bps.mean") for flow in FLOWS]
        return np.asarray(np.sum(flows, axis=0))

    def one(game: str) -> Finding:
        share = 100 * carried(voap(game)) / carried(regular(game).with_(NEVER_EMPTY))
        return findings.near(share, 100, claim.limits["percent"], "%")

    return for_all_games(one, "what the radio carries down, of what it carries when its queue is never empty")
