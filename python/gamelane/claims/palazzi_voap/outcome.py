"""Figs. 2 and 3 and the claims about them: throughput kept, short queues, no loss."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Evidence, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.palazzi_voap.arms import (
    BETA,
    FLOWS,
    GAMES,
    GOODPUT,
    WAITING,
    averaged,
    check,
    queue_delay,
    regular,
    voap,
)

LEAST_KEPT = 0.95
BUFFER = 250
ALMOST_NONE_PERCENT = 0.01


@check("thr")
def throughput(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    found = []
    for game in GAMES:
        before, after = (runs.values(arm(game), GOODPUT) / 1e6 for arm in (regular, voap))
        kept = after / before
        found.append(
            given(
                bool(np.all(kept >= LEAST_KEPT)),
                f"{game} {findings.number(before)}, {findings.number(after)} Mbit/s, least share kept {kept.min():.1%}",
            )
        )
    return findings.all_of(*found, why="Mbit/s without and with VoAP; the share is that of the worst seed")


@check("delay")
def delay(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    found = []
    for game in GAMES:
        after, before = (queue_delay(runs, arm(game)) for arm in (voap, regular))
        waiting = [runs.values(arm(game), WAITING).mean() for arm in (regular, voap)]
        one = findings.less("VoAP", after, "regular", before, "ms")
        shown = f"{game}: {one.ours}, {waiting[1]:.0f} and {waiting[0]:.0f} of {BUFFER} packets waiting"
        found.append(Finding(one.outcome, shown, one.why))
    return findings.all_of(*found)


@check("delay-target")
def delay_target(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    found = [findings.between(queue_delay(runs, voap(game)), 0, 1.3 * BETA, "ms", game) for game in GAMES]
    return findings.all_of(
        *(Finding(one.outcome, f"{one.why} {one.ours}") for one in found),
        why="the delay settles between alpha and beta, because the law does not move a delay between the two",
    )


@check("noloss")
def no_loss(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    shares, clean, most = {}, 0, 0.0
    for arm in (voap, regular):
        drops, packets = (
            np.array([runs.values(arm(game), f"queues.down.{path}") for game in GAMES])
            for path in ("drops.tail", "packets")
        )
        shares[arm] = (100 * drops / packets).mean(axis=0)
        if arm is voap:
            clean, most = int((drops == 0).sum()), float(drops.max())
    return findings.all_of(
        given(
            float(shares[voap].mean()) < ALMOST_NONE_PERCENT,
            f"no packet lost in {clean} of {runs.repeats * len(GAMES)} runs, at most {most:.0f}",
            "these few packets are lost in slow start. If the first delay above beta comes late, windows of up to three"
            " times the flight have already been advertised and cannot be taken back",
        ),
        findings.less("VoAP", shares[voap], "regular", shares[regular], "% of packets"),
    )


@check("util")
def utilisation(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    shares = []
    for game in GAMES:
        before, after = (
            np.sum([runs.values(arm(game), f"flows.{flow}.down.throughput_bps.mean") for flow in FLOWS], axis=0)
            for arm in (regular, voap)
        )
        shares.append(after / before)

    def busy(run: _native.Run) -> float:
        queues = columns(run, "queues")
        late = (queues["direction"] == "down") & (queues["t_s"] > evidence.base.warmup_s)
        return float((queues["packets"][late] > 0).mean())

    waiting = np.array(evidence.derived(voap(), "busy", busy))
    return findings.all_of(
        findings.near(np.mean(shares, axis=0), 1, 10, "of the regular access point's download"),
        findings.between(waiting, 0.9, 1, "of the time packets wait at the access point"),
    )


@check("regular-bad")
def regular_is_bad(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    found = [queue_delay(runs, regular(game)) for game in GAMES]
    return given(
        bool(np.all(np.array(found) > BETA)),
        ", ".join(f"{game} {findings.number(ms)}" for game, ms in zip(GAMES, found, strict=True)) + " ms",
        "mean over all packets; every seed is above beta",
    )
