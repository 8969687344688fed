"""The modified retransmission timeout (section 4.4, figure 5), and its cost in retransmissions."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import (
    GRID,
    PLAYERS,
    Condition,
    bursts,
    check,
    count,
    delay,
    modified,
    simplex,
    thin,
)

BURSTY = bursts(5)
HIGH = {f"flow.{PLAYERS}.loss": "20%"}


def _sequence(evidence: Evidence, arm: Arm, expected: tuple[float, ...], percent: float) -> Finding:
    found = [
        findings.near(delay(evidence, arm, number), theirs, percent, "ms")
        for number, theirs in enumerate(expected, start=1)
    ]
    return findings.all_of(*found)


@check("mod.formula")
def formula(evidence: Evidence, _: Claim) -> Finding:
    finding = _sequence(evidence, modified(Condition(5, 100, 0)), (300, 600, 900), 10)
    return findings.all_of(
        finding,
        why="round trip 200 ms: 200 + min(100, rttvar) = 300, without doubling. Linux stores srtt times 8, so `srtt"
        " >> 4` is half a round trip. Exact values are tested in crates/tcp/tests/endpoints/timers.rs",
    )


@check("mod.std")
def standard(evidence: Evidence, _: Claim) -> Finding:
    finding = _sequence(evidence, simplex(Condition(5, 100, 0)), (400, 1200, 2800), 10)
    return findings.all_of(
        finding, why="(200 + 200) << n; exact values are tested in crates/tcp/tests/endpoints/timers.rs"
    )


@check("mod.never-worse")
def never_worse(evidence: Evidence, _: Claim) -> Finding:
    found, good = [], True
    for condition in GRID:
        for number in (1, 2):
            mine, theirs = (delay(evidence, arm(condition), number) for arm in (modified, simplex))
            difference = mine - theirs if len(mine) == len(theirs) else np.array([mine.mean() - theirs.mean()])
            half = float(1.96 * difference.std() / max(len(difference) - 1, 1) ** 0.5)
            good &= float(difference.mean()) <= max(half, 0.01 * float(theirs.mean()))
            found.append(f"{condition} no. {number}: {mine.mean():.0f} of {theirs.mean():.0f} ms")
    return given(
        good,
        "modified of standard: " + ", ".join(found),
        "a difference within 1 %, or within the interval, counts as not later",
    )


@check("mod.grows")
def grows(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in (Condition(5, 100, 0), Condition(5, 300, 0)):
        gain = [
            float(delay(evidence, simplex(condition), n).mean() / delay(evidence, modified(condition), n).mean())
            for n in (1, 2, 3)
        ]
        text = f"{condition}: standard over modified {gain[0]:.2f}, {gain[1]:.2f}, {gain[2]:.2f} for the 1st, 2nd, 3rd"
        found.append(given(gain[2] > gain[1] > gain[0], text))
    return findings.all_of(*found, why="the formulas give 1.33, 2, 3.1 at 100 ms and 1, 1.5, 2.33 at 300 ms")


@check("mod.aggressive")
def aggressive(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in (Condition(1, 100, 0), Condition(5, 100, 0), Condition(5, 100, 10)):
        mine, theirs = (100 * _in_vain(evidence, arm(condition)) for arm in (modified, simplex))
        found.append(f"{condition}: {findings.number(theirs)} to {findings.number(mine)} %")
    rows = [_in_vain(evidence, modified(c)).mean() - _in_vain(evidence, simplex(c)).mean() for c in GRID]
    return given(
        max(rows) > 0,
        "data packets that arrived in vain, standard to modified: " + ", ".join(found),
        f"more in {sum(row > 0 for row in rows)} of 8 conditions; the paper names the risk but gives no number",
    )


def _in_vain(evidence: Evidence, arm: Arm) -> Numbers:
    return thin(evidence, arm, "duplicate_segments") / thin(evidence, arm, "packets")


@check("mod.limits")
def limits(evidence: Evidence, _: Claim) -> Finding:
    extra = {}
    for name, change in (("5 % at random", {}), ("5 % in bursts of 5", BURSTY), ("20 % at random", HIGH)):
        mine, theirs = (
            thin(evidence, arm(Condition(5, 100, 0)).with_(change), "retransmitted_segments")
            for arm in (modified, simplex)
        )
        extra[name] = mine / theirs
    base = thin(evidence, modified(Condition(1, 100, 0)), "retransmitted_segments") / thin(
        evidence, simplex(Condition(1, 100, 0)), "retransmitted_segments"
    )
    worst = max(extra.values(), key=lambda ratio: float(ratio.mean()))
    return findings.less(
        "retransmitted segments of the modified over the standard timeout: 1 % at random",
        base,
        "highest of the others",
        worst,
        "",
        ", ".join(f"{name}: {findings.number(ratio)}" for name, ratio in extra.items())
        + "; the paper states this limit but does not measure it",
    )


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [arm(Condition(5, 100, 0)).with_(change) for arm in (modified, simplex) for change in (BURSTY, HIGH)]


def first_share(evidence: Evidence, arm: Arm) -> Numbers:
    """Return first retransmissions over packets, in per cent."""
    return 100 * count(evidence, arm, 1) / thin(evidence, arm, "packets")
