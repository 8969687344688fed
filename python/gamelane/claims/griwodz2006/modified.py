"""The modified retransmission timeout (section 4.4, figure 5), and its cost in retransmissions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, cannot_tell
from gamelane.claims.griwodz2006.arms import (
    GRID,
    MODIFIED,
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
from gamelane.claims.griwodz2006.readings import Reading, because, delays, in_each_reading, together

BURSTY = bursts(5)
HIGH = {f"flow.{PLAYERS}.loss": "20%"}
BOTH_DELAYS = (Condition(5, 100, 0), Condition(5, 300, 0))
LEAST_VARIATION_MS = 200
"""Linux's least `rttvar`. A constant round trip has it."""
BASIC = ("New Reno", "SACK", "DSACK", "DSACK+FACK")
"""New Reno and its extensions other than FACK."""


@check("mod.formula")
def formula(evidence: Evidence, claim: Claim) -> Finding:
    return findings.all_of(
        _follows(evidence, modified, claim, lambda trip, lost: lost * (trip + min(trip / 2, LEAST_VARIATION_MS))),
        why="200 + min(100, rttvar) = 300 ms and 600 + min(300, rttvar) = 800 ms, without doubling. Linux stores srtt"
        " times 8, so `srtt >> 4` is half a round trip. Exact values and the cap of 120 s are tested in"
        " crates/tcp/tests/endpoints/timers.rs",
    )


@check("mod.std")
def standard(evidence: Evidence, claim: Claim) -> Finding:
    return findings.all_of(
        _follows(evidence, simplex, claim, lambda trip, lost: (2**lost - 1) * (trip + LEAST_VARIATION_MS)),
        why="(200 + 200) << n and (600 + 200) << n ms. Exact values and the cap of 120 s are tested in"
        " crates/tcp/tests/endpoints/timers.rs",
    )


def _follows(
    evidence: Evidence, arm: Callable[[Condition], Arm], claim: Claim, after: Callable[[float, int], float]
) -> Finding:
    """Judge the timer, and the time of the n-th retransmission. `after` gives it in ms by round trip and n."""
    percent, near = claim.limits["percent"], BOTH_DELAYS[0]
    timers = [
        findings.near(
            _timing(evidence, arm(condition))["timer"],
            after(2 * condition.delay, 1),
            percent,
            f"ms is the timer at {condition.delay} ms",
        )
        for condition in BOTH_DELAYS
    ]
    retransmissions = [
        findings.near(delay(evidence, arm(near), n), after(2 * near.delay, n), percent, f"ms until no. {n}")
        for n in (1, 2, 3)
    ]
    return findings.all_of(*timers, *retransmissions)


def _timing(evidence: Evidence, arm: Arm) -> dict[str, Numbers]:
    """Return the median timer, and the standard deviations of the first three retransmissions' delays, in ms."""

    def measure(run: _native.Run) -> list[float]:
        tcp, packets = columns(run, "tcp"), columns(run, "retransmissions")
        sampled = (tcp["side"] == "server") & (tcp["srtt_ms"] > 0)
        alone = packets["included"] == 0
        spreads = [packets["delay_ms"][alone & (packets["retransmissions"] == n)].std() for n in (1, 2, 3)]
        return [float(np.median(tcp["rto_ms"][sampled])), *map(float, spreads)]

    found = np.array(evidence.derived(arm, "timing", measure), dtype=float).T
    return dict(zip(("timer", "1", "2", "3"), found, strict=True))


@check("mod.never-worse")
def never_worse(evidence: Evidence, claim: Claim) -> Finding:
    highest = 1 + claim.limits["percent"] / 100

    def judge(reading: Reading) -> Finding:
        ratios = {
            f"no. {n} at {condition}": _over(evidence, modified(condition), simplex(condition), n, reading)
            for condition in GRID
            for n in (1, 2)
        }
        found = {name: findings.below(ratio, highest, "of the standard delay") for name, ratio in ratios.items()}
        ends = (pick(ratios, key=lambda name: ratios[name].mean()) for pick in (min, max))
        return together(found, " to ".join(f"{findings.number(ratios[end])} ({end})" for end in ends))

    return because(
        in_each_reading(judge), "of the standard delay. At 300 ms the first timeout is the same with both formulas"
    )


def _over(evidence: Evidence, one: Arm, other: Arm, number: int, reading: Reading) -> Numbers:
    """Return the ratio of the delays until the `number`-th retransmission by seed; NaN for a seed without one."""
    return delays(evidence, one, number, reading) / delays(evidence, other, number, reading)


@check("mod.grows")
def grows(evidence: Evidence, _: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        found, ours = {}, []
        for condition in BOTH_DELAYS:
            gains = [_over(evidence, simplex(condition), modified(condition), n, reading) for n in (1, 2, 3)]
            for n, (gain, later) in enumerate(pairwise(gains), 1):
                found[f"no. {n} to {n + 1} at {condition}"] = findings.less("", gain, "", later, "")
            ours.append(f"{', '.join(findings.number(gain) for gain in gains)} at {condition}")
        return together(found, "; ".join(ours))

    return because(
        in_each_reading(judge),
        "standard over modified delay. The formulas give 1.33, 2, 3.1 at 100 ms and 1, 1.5, 2.33 at 300 ms",
    )


@check("fig5.sd")
def spread(evidence: Evidence, _: Claim) -> Finding:
    ours = [
        f"{name} at {condition.delay} ms: "
        + ", ".join(findings.number(_timing(evidence, arm(condition))[n]) for n in "123")
        for condition in BOTH_DELAYS
        for name, arm in (("standard", simplex), ("modified", modified))
    ]
    return cannot_tell(
        f"needs the numbers behind the figure. Ours at 5 % loss, for the 1st, 2nd and 3rd, in ms: {'; '.join(ours)}"
    )


@check("mod.similar")
def similar(evidence: Evidence, claim: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        ratios = {
            f"{setting}, no. {n} at {condition}": _over(
                evidence, _with(setting, condition), modified(condition), n, reading
            )
            for setting in BASIC
            for condition in BOTH_DELAYS
            for n in (1, 2)
        }
        found = {name: findings.near(ratio, 1, claim.limits["percent"], "") for name, ratio in ratios.items()}
        furthest = max(ratios, key=lambda name: abs(ratios[name].mean() - 1))
        return together(found, f"furthest {findings.number(ratios[furthest])} of FACK's ({furthest})")

    return in_each_reading(judge)


def _with(setting: str, condition: Condition) -> Arm:
    return simplex(condition, setting).with_(MODIFIED)


@check("mod.aggressive")
def aggressive(evidence: Evidence, _: Claim) -> Finding:
    shares = {arm: [100 * _in_vain(evidence, arm(condition)) for condition in GRID] for arm in (simplex, modified)}
    standard, ours = (np.asarray(np.mean(each, axis=0)) for each in shares.values())
    changes = [after - before for before, after in zip(*shares.values(), strict=True)]
    return findings.less(
        "data packets that arrive in vain: standard",
        standard,
        "modified",
        ours,
        "%",
        "change by condition in points: "
        + ", ".join(
            f"{condition} {findings.number(change, 2)}" for condition, change in zip(GRID, changes, strict=True)
        )
        + ". A shorter timeout waits less for the ACK of the next packet, which would replace a lost ACK. These links"
        " have no queue; `f.aggregate` has one",
    )


def _in_vain(evidence: Evidence, arm: Arm) -> Numbers:
    return thin(evidence, arm, "duplicate_segments") / thin(evidence, arm, "packets")


@check("mod.limits")
def limits(evidence: Evidence, _: Claim) -> Finding:
    condition = Condition(5, 100, 0)
    worlds = {"5 % at random": {}, "20 %": HIGH, "5 % in bursts": BURSTY}
    factors, tails = {}, []
    for name, change in worlds.items():
        arms = [arm(condition).with_(change) for arm in (simplex, modified)]
        before, after = (thin(evidence, arm, "retransmitted_segments") / thin(evidence, arm, "packets") for arm in arms)
        factors[name] = after / before
        seconds = [findings.number(thin(evidence, arm, "down.delivery_ms.p99") / 1e3) for arm in arms]
        tails.append(f"{name} {seconds[0]} and {seconds[1]} s")
    low, *others = factors
    return findings.all_of(
        *(
            findings.less(f"modified over standard at {low}", factors[low], f"at {other}", factors[other], "")
            for other in others
        ),
        why="this is the cost in segments. The player gains all the same. 99 % delivery delay, standard and modified: "
        + "; ".join(tails),
    )


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    limits = [arm(Condition(5, 100, 0)).with_(change) for arm in (modified, simplex) for change in (BURSTY, HIGH)]
    return limits + [_with(setting, condition) for setting in BASIC for condition in BOTH_DELAYS]


def first_share(evidence: Evidence, arm: Arm) -> Numbers:
    """Return first retransmissions over packets, in per cent."""
    return 100 * count(evidence, arm, 1) / thin(evidence, arm, "packets")
