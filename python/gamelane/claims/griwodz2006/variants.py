"""The eight TCP settings on simplex streams (section 4.2, figure 2)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import (
    AT_100MS,
    SETTINGS,
    TCP,
    Condition,
    check,
    delay,
    multiplexed,
    retransmission_delay,
    simplex,
    thin,
)

FULL_SEGMENT = 1448
WITH_FRTO = {f"{TCP}.frto": "true"}


def _means(evidence: Evidence, conditions: Iterable[Condition], number: int) -> dict[tuple[Condition, str], float]:
    return {
        (condition, setting): float(delay(evidence, simplex(condition, setting), number).mean())
        for condition in conditions
        for setting in SETTINGS
    }


def _figure(evidence: Evidence, number: int, theirs: float, cause: str) -> Finding:
    means = _means(evidence, AT_100MS, number)
    inside = {key: abs(mean - theirs) <= 0.10 * theirs for key, mean in means.items()}
    blocks = [np.mean([means[condition, setting] for setting in SETTINGS]) for condition in AT_100MS]
    ours = (
        f"{min(means.values()):.0f} to {max(means.values()):.0f} ms over 8 settings and 4 blocks; means of the blocks "
        + ", ".join(f"{condition}: {mean:.0f}" for condition, mean in zip(AT_100MS, blocks, strict=True))
    )
    everything = thin(evidence, simplex(), f"nth.{number}.delay_ms")
    cause += (
        f". This counts packets retransmitted by themselves. Packets included in another's retransmission wait less."
        f" With them it is {findings.number(everything)} ms at 1 %. The paper's figure cannot count them, because its"
        " timeout is no shorter"
    )
    outside = [f"{setting} at {condition}" for (condition, setting), near in inside.items() if not near]
    return given(not outside, ours, cause + (f"; outside ±10 %: {', '.join(outside)}" if outside else ""))


@check("fig2a")
def first(evidence: Evidence, _: Claim) -> Finding:
    return _figure(evidence, 1, 400, "round trip 200 ms plus the minimum margin of 200 ms")


@check("fig2b")
def second(evidence: Evidence, _: Claim) -> Finding:
    return _figure(evidence, 2, 1200, "400 ms plus the doubled 800 ms")


@check("fig2.small", "fig2.nochange")
def small_spread(evidence: Evidence, _: Claim) -> Finding:
    found, good = [], True
    for number in (1, 2):
        means = _means(evidence, AT_100MS, number)
        for condition in AT_100MS:
            block = np.array([means[condition, setting] for setting in SETTINGS])
            spread = float(np.abs(block / block.mean() - 1).max())
            good &= spread <= 0.10
            found.append(f"{condition} no. {number}: {100 * spread:.1f} %")
    return given(good, "largest deviation of a setting from the mean of its block: " + ", ".join(found))


@check("fig2.options")
def options(evidence: Evidence, _: Claim) -> Finding:
    found = [
        findings.near(
            _ratio(delay(evidence, simplex(c, s).with_(WITH_FRTO), n), delay(evidence, simplex(c, s), n)),
            1,
            10,
            f"F-RTO on to off, {s}, {c}, no. {n}",
        )
        for c in (Condition(1, 100, 0), Condition(5, 100, 0))
        for s in ("New Reno", "FACK")
        for n in (1, 2)
    ]
    return findings.all_of(*found, why="LOWLAT (Linux's prequeue in the receiving host) is not modelled")


@check("fig2.jitter")
def jitter(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for loss in (1, 5):
        for number in (1, 2):
            with_, without = (delay(evidence, simplex(Condition(loss, 100, jitter)), number) for jitter in (10, 0))
            found.append(findings.near(_ratio(with_, without), 1, 10, f"10 to 0 % jitter, {loss} %, no. {number}"))
    return findings.all_of(*found)


@check("fig2.300")
def longer(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for loss in (1, 5):
        for number in (1, 2):
            short, long = (delay(evidence, simplex(Condition(loss, ms, 0)), number) for ms in (100, 300))
            found.append(findings.less(f"{loss} %, no. {number}: 100 ms", short, "300 ms", long, "ms"))
    spread = {
        ms: _spread([delay(evidence, simplex(Condition(5, ms, 0), setting), 1) for setting in SETTINGS])
        for ms in (100, 300)
    }
    why = (
        f"the settings are within ±{spread[100]:.1f} % at 100 and ±{spread[300]:.1f} % at 300 ms (5 %, first"
        " retransmission). They are too close for their order to mean anything"
    )
    return findings.all_of(*found, why=why)


@check("fig2.later")
def later(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in (Condition(5, 100, 0), Condition(5, 300, 0)):
        first = delay(evidence, simplex(condition), 1)
        for number in (2, 3):
            ratio = _ratio(delay(evidence, simplex(condition), number), first)
            found.append(findings.near(ratio, 2**number - 1, 10, f"times the first, no. {number} at {condition}"))
    return findings.all_of(*found, why="RTO (2^n - 1): 3 and 7 times the first")


@check("var.fack")
def fack(evidence: Evidence, _: Claim) -> Finding:
    condition = Condition(5, 100, 0)
    return findings.less(
        "mean retransmission delay, multiplexed: FACK",
        retransmission_delay(evidence, multiplexed(condition, "FACK")),
        "New Reno",
        retransmission_delay(evidence, multiplexed(condition, "New Reno")),
        "ms",
        "a gap of more than three segments starts FACK's recovery; this is tested packet by packet"
        " (crates/tcp/tests/endpoints/thin.rs, recovery.rs)",
    )


@check("var.fack-lag")
def fack_lag(evidence: Evidence, _: Claim) -> Finding:
    condition = Condition(5, 100, 0)
    fack, reno = simplex(condition, "FACK"), simplex(condition, "New Reno")
    mean = _ratio(thin(evidence, fack, "down.delivery_ms.mean"), thin(evidence, reno, "down.delivery_ms.mean"))
    tail = _ratio(thin(evidence, fack, "down.delivery_ms.p999"), thin(evidence, reno, "down.delivery_ms.p999"))
    return findings.all_of(
        given(True, f"mean delivery delay {findings.number(mean)} of New Reno's"),
        findings.near(tail, 1, 10, "of New Reno's 99.9 % delivery delay"),
        why="an expectation of the authors. As in their figure 2 the gain is almost zero, because timeouts repair"
        " almost all losses with either setting",
    )


@check("var.newreno")
def newreno(evidence: Evidence, _: Claim) -> Finding:
    smallest = np.array(
        evidence.derived(simplex(Condition(5, 100, 0), "New Reno"), "least window", _least_window), dtype=float
    )
    return findings.near(smallest, 1, 0, "segment is the smallest window of the servers at 5 %")


def _least_window(run: _native.Run) -> float:
    rows = columns(run, "tcp")
    windows = rows["cwnd_bytes"][(rows["side"] == "server") & (rows["srtt_ms"] > 0)]
    return float(windows.min()) / FULL_SEGMENT


@check("var.vegas")
def vegas(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in AT_100MS:
        for number in (1, 2):
            ratio = _ratio(*(delay(evidence, simplex(condition, setting), number) for setting in ("Vegas", "New Reno")))
            found.append(findings.near(ratio, 1, 10, f"of New Reno's, {condition}, no. {number}"))
    return findings.all_of(
        *found, why="in crates/tcp Vegas changes only the window; recovery and timer are separate fields"
    )


def _ratio(of: Numbers, to: Numbers) -> Numbers:
    """Return the ratio seed by seed, or of the means if a seed lacks a value."""
    return of / to if len(of) == len(to) else np.array([of.mean() / to.mean()])


def _spread(values: list[Numbers]) -> float:
    means = np.array([float(each.mean()) for each in values])
    return float(100 * np.abs(means / means.mean() - 1).max())


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    arms = [simplex(Condition(loss, 100, 0), s).with_(WITH_FRTO) for loss in (1, 5) for s in ("New Reno", "FACK")]
    return arms + [simplex(Condition(5, 300, 0), setting) for setting in SETTINGS]
