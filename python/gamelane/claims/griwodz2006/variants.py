"""The eight TCP settings on simplex streams (section 4.2, figure 2)."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, cannot_tell
from gamelane.claims.griwodz2006.arms import AT_100MS, SETTINGS, TCP, Condition, check, simplex, thin
from gamelane.claims.griwodz2006.readings import Reading, because, delays, in_each_reading, together

WITH_FRTO = {f"{TCP}.frto": "true"}
LOSSES = (1, 5)
NUMBERS = (1, 2)
JITTERY = Condition(1, 100, 80)


def _more(evidence: Evidence) -> Evidence:
    """Return four times the runs: at 1 % a run has some 70 second retransmissions."""
    return evidence.beside("four times the runs", times=4)


def _figure(evidence: Evidence, claim: Claim, number: int) -> Finding:
    def judge(reading: Reading) -> Finding:
        found = {str(block): delays(_more(evidence), simplex(block), number, reading) for block in AT_100MS}
        ours = ", ".join(f"{block} {findings.number(each)}" for block, each in found.items())
        near = {
            block: findings.near(each, claim.theirs, claim.limits["percent"], "ms") for block, each in found.items()
        }
        return together(near, f"{ours} ms")

    return in_each_reading(judge)


@check("fig2a")
def first(evidence: Evidence, claim: Claim) -> Finding:
    return because(_figure(evidence, claim, 1), "round trip 200 ms plus the minimum margin of 200 ms")


@check("fig2b")
def second(evidence: Evidence, claim: Claim) -> Finding:
    return because(_figure(evidence, claim, 2), "400 ms plus the doubled 800 ms")


@check("fig2.small")
def small_spread(evidence: Evidence, claim: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        found: dict[str, Numbers] = {}
        for block in AT_100MS:
            for number in NUMBERS:
                of = {setting: delays(evidence, simplex(block, setting), number, reading) for setting in SETTINGS}
                found |= {f"{setting}, {block}, no. {number}": ratio for setting, ratio in _to_mean(of).items()}
        return _all_near_one(found, claim, "of the mean of its block")

    return in_each_reading(judge)


@check("fig2.nochange")
def no_change(evidence: Evidence, claim: Claim) -> Finding:
    found: dict[str, Numbers] = {}
    for block in AT_100MS:
        for path in ("mean", "p99"):
            of = {setting: thin(evidence, simplex(block, setting), f"down.delivery_ms.{path}") for setting in SETTINGS}
            found |= {f"{setting}, {block}, {path}": ratio for setting, ratio in _to_mean(of).items()}
    return _all_near_one(found, claim, "of the mean of its block")


def _to_mean(of: dict[str, Numbers]) -> dict[str, Numbers]:
    """Return each setting's values divided by the mean over settings, seed by seed."""
    mean = np.mean(list(of.values()), axis=0)
    return {setting: values / mean for setting, values in of.items()}


def _all_near_one(found: dict[str, Numbers], claim: Claim, of: str) -> Finding:
    means = [float(np.nanmean(each)) for each in found.values()]
    return together(
        {name: findings.near(each, 1, claim.limits["percent"], "") for name, each in found.items()},
        f"{min(means):.3f} to {max(means):.3f} {of}",
    )


@check("fig2.options")
def options(evidence: Evidence, claim: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        found: dict[str, Numbers] = {}
        for condition in (Condition(loss, 100, 0) for loss in LOSSES):
            for setting in ("New Reno", "FACK"):
                off, on = simplex(condition, setting), simplex(condition, setting).with_(WITH_FRTO)
                for number in NUMBERS:
                    ratio = delays(evidence, on, number, reading) / delays(evidence, off, number, reading)
                    found[f"{setting}, {condition}, no. {number}"] = ratio
        return _all_near_one(found, claim, "of the delay without F-RTO")

    return in_each_reading(judge)


@check("fig2.lowlat")
def low_latency(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("gamelane has no LOWLAT. It moves work inside the receiving host, which costs no time here")


@check("fig2.jitter")
def jitter(evidence: Evidence, claim: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        found: dict[str, Numbers] = {}
        for loss in LOSSES:
            for number in NUMBERS:
                with_, without = (
                    delays(evidence, simplex(Condition(loss, 100, jitter)), number, reading) for jitter in (10, 0)
                )
                found[f"{loss} %, no. {number}"] = with_ / without
        return _all_near_one(found, claim, "of the delay without jitter")

    return in_each_reading(judge)


@check("fig2.variance")
def variance(evidence: Evidence, _: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        calm, jittery = (delays(evidence, simplex(block), 1, reading) for block in (Condition(1, 100, 0), JITTERY))
        return findings.less("first retransmission without jitter", calm, f"with {JITTERY.jitter} %", jittery, "ms")

    return because(in_each_reading(judge), "the round trip has the same mean, 200 ms")


@check("fig2.300")
def longer(evidence: Evidence, claim: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        rises = [
            findings.less(
                f"{loss} %, no. {number}: 100 ms",
                delays(evidence, simplex(Condition(loss, 100, 0)), number, reading),
                "300 ms",
                delays(evidence, simplex(Condition(loss, 300, 0)), number, reading),
                "ms",
            )
            for loss in LOSSES
            for number in NUMBERS
        ]
        block = Condition(5, 300, 0)
        of = {setting: delays(evidence, simplex(block, setting), 1, reading) for setting in SETTINGS}
        spread = _all_near_one(_to_mean(of), claim, f"of the mean of the 8 settings at {block}")
        return findings.all_of(*rises, spread)

    return in_each_reading(judge)


@check("fig2.later")
def later(evidence: Evidence, claim: Claim) -> Finding:
    found = []
    for condition in (Condition(5, 100, 0), Condition(5, 300, 0)):
        first = delays(evidence, simplex(condition), 1, "alone")
        for number in (2, 3):
            ratio = delays(evidence, simplex(condition), number, "alone") / first
            times = 2**number - 1
            found.append(
                findings.near(ratio, times, claim.limits["percent"], f"times the first, no. {number} at {condition}")
            )
    return findings.all_of(*found, why="of packets retransmitted by themselves: the others were not sent by a timer")


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    arms = [simplex(Condition(loss, 100, 0), s).with_(WITH_FRTO) for loss in LOSSES for s in ("New Reno", "FACK")]
    return [*arms, simplex(JITTERY), *(simplex(Condition(5, 300, 0), setting) for setting in SETTINGS)]
