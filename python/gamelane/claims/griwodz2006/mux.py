"""All players over one connection to a proxy (section 4.3, figures 3 and 4). Its bytes and packets: `table1.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, cannot_tell
from gamelane.claims.griwodz2006.arms import (
    EXTENSIONS,
    HIGH_SPEED,
    PLAYERS,
    SETTINGS,
    TABLE_1,
    TCP,
    Condition,
    check,
    multiplexed,
    simplex,
    thin,
)
from gamelane.claims.griwodz2006.readings import Reading, agreed, because, in_each_reading, mean_delay, together

LOW, HIGH, FAR = TABLE_1, Condition(5, 100, 0), Condition(1, 300, 0)
JITTERY = Condition(1, 100, 10)
AT_100MS, AT_300MS = (tuple(Condition(loss, delay, 0) for loss in (1, 5)) for delay in (100, 300))
STREAMS = {f"flow.{PLAYERS}.carriage": "streams"}
OTHERS = tuple(setting for setting in SETTINGS if setting not in EXTENSIONS)
NO_SACK_SAID = "the paper does not say whether Westwood, BIC and Vegas ran with SACK"


@check("mux.latency")
def latency(evidence: Evidence, _: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        return findings.all_of(
            *(
                findings.less(
                    f"multiplexed, {condition}",
                    mean_delay(evidence, multiplexed(condition), reading),
                    "simplex",
                    mean_delay(evidence, simplex(condition), reading),
                    "ms",
                )
                for condition in (LOW, JITTERY)
            )
        )

    return because(in_each_reading(judge), "retransmission delay, as in the figures. `mux.lag` has the players' delay")


@check("mux.lag")
def lag(evidence: Evidence, _: Claim) -> Finding:
    def both(condition: Condition, of: str) -> tuple[Numbers, Numbers]:
        mux, direct = (thin(evidence, arm(condition), f"down.delivery_ms.{of}") for arm in (multiplexed, simplex))
        return mux, direct

    def shown(condition: Condition, of: str) -> str:
        mux, direct = (findings.number(each) for each in both(condition, of))
        return f"{mux} ms, simplex {direct}"

    mux, direct = both(LOW, "mean")
    apart = thin(evidence, multiplexed().with_(STREAMS), "down.delivery_ms.mean")
    return findings.less(
        "mean delivery delay of a message: multiplexed",
        mux,
        "simplex",
        direct,
        "ms",
        "a loss now delays every player behind it, and messages wait for the shared window. With the same window and"
        f" each player's messages delivered apart (`streams`) it is {findings.number(apart)} ms. The 99 % delay is"
        f" {shown(LOW, 'p99')}, and at 5 % loss {shown(HIGH, 'p99')}",
    )


def _gain(evidence: Evidence, condition: Condition, reading: Reading) -> Numbers:
    """Return the share of the retransmission delay that multiplexing saves, in per cent."""
    mux, direct = (mean_delay(evidence, arm(condition), reading) for arm in (multiplexed, simplex))
    return 100 * (1 - mux / direct)


@check("mux.highloss")
def high_loss(evidence: Evidence, claim: Claim) -> Finding:
    def judge(reading: Reading) -> Finding:
        low, high = (_gain(evidence, condition, reading) for condition in (LOW, HIGH))
        return findings.all_of(
            findings.less("saved at 5 %", high, "at 1 %", low, "%"), findings.below(high, claim.limits["percent"], "%")
        )

    return in_each_reading(judge)


@check("mux.fastretx")
def fast(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        *(
            findings.less(
                f"{condition}: by timeout",
                thin(evidence, multiplexed(condition), "timeout_retransmissions"),
                "fast",
                thin(evidence, multiplexed(condition), "fast_retransmissions"),
                "segments",
            )
            for condition in AT_100MS
        )
    )


@check("mux.delay300")
def delay300(evidence: Evidence, _: Claim) -> Finding:
    return in_each_reading(
        lambda reading: findings.less(
            "saved at 300 ms", _gain(evidence, FAR, reading), "at 100 ms", _gain(evidence, LOW, reading), "%"
        )
    )


Means = Callable[[str], Numbers]


def _with_and_without_sack(evidence: Evidence, judge: Callable[[Means], Finding]) -> Finding:
    """Judge the means over 1 and 5 % loss by setting, without SACK below the high-speed settings and with FACK."""

    def means(recovery: dict[str, str]) -> Means:
        return lambda setting: _mean(evidence, AT_100MS, setting, recovery if setting in HIGH_SPEED else {})

    found = agreed(
        {"without SACK": judge(means({})), "with FACK": judge(means(WITH_FACK))},
        NO_SACK_SAID,
    )
    return because(found, "mean of 1 and 5 % at 100 ms")


def _mean(evidence: Evidence, blocks: tuple[Condition, ...], setting: str, recovery: dict[str, str]) -> Numbers:
    arms = [multiplexed(block, setting).with_(recovery) for block in blocks]
    return np.asarray(np.mean([mean_delay(evidence, arm, "all") for arm in arms], axis=0))


WITH_FACK = {f"{TCP}.recovery": "fack"}


def _extensions_lead(means: Means, others: tuple[str, ...]) -> Finding:
    """Judge whether the mean of DSACK, FACK and both is below that of each other setting."""
    leading = np.mean([means(setting) for setting in EXTENSIONS], axis=0)
    found = {setting: findings.less("", leading, "", means(setting), "ms") for setting in others}
    values = ", ".join(f"{setting} {findings.number(means(setting))}" for setting in others)
    return together(found, f"DSACK, FACK and both {findings.number(leading)}, {values} ms")


@check("mux.highspeed")
def high_speed(evidence: Evidence, _: Claim) -> Finding:
    return _with_and_without_sack(evidence, lambda means: _extensions_lead(means, HIGH_SPEED))


@check("mux.best")
def best(evidence: Evidence, _: Claim) -> Finding:
    return _with_and_without_sack(evidence, lambda means: _extensions_lead(means, OTHERS))


@check("mux.westwood")
def westwood(evidence: Evidence, claim: Claim) -> Finding:
    def ratio(recovery: dict[str, str], reno: str) -> Finding:
        mine, theirs = (_mean(evidence, AT_100MS, "Westwood", recovery), _mean(evidence, AT_100MS, reno, {}))
        return findings.above(mine / theirs, 1 - claim.limits["percent"] / 100, "of New Reno's retransmission delay")

    return agreed(
        {"both without SACK": ratio({}, "New Reno"), "both with FACK": ratio(WITH_FACK, "FACK")}, NO_SACK_SAID
    )


@check("mux.300")
def longer(evidence: Evidence, _: Claim) -> Finding:
    rises, means = {}, {}
    for setting in SETTINGS:
        near, means[setting] = (_mean(evidence, blocks, setting, {}) for blocks in (AT_100MS, AT_300MS))
        rises[setting] = findings.less("", near, "", means[setting], "ms")
    higher = together(rises, f"{_range(means)} ms at 300 ms")
    order = agreed(
        {
            "without SACK": _extensions_lead(means.__getitem__, OTHERS),
            "with FACK": _extensions_lead(
                lambda setting: _mean(evidence, AT_300MS, setting, WITH_FACK if setting in HIGH_SPEED else {}),
                OTHERS,
            ),
        },
        NO_SACK_SAID,
    )
    waits = findings.number(thin(evidence, multiplexed(Condition(5, 300, 0)), "down.delivery_ms.mean") / 1e3)
    return findings.all_of(
        higher, order, why=f"at 5 %, 300 ms one connection cannot carry the messages: they wait {waits} s on average"
    )


def _range(means: dict[str, Numbers]) -> str:
    middle = [float(each.mean()) for each in means.values()]
    return f"{min(middle):.0f} to {max(middle):.0f}"


@check("mux.cc")
def congestion_control(evidence: Evidence, _: Claim) -> Finding:
    shared, own = (
        np.array(evidence.derived(arm(HIGH), "limited", _window_limited), dtype=float) for arm in (multiplexed, simplex)
    )
    return findings.less(
        "samples of 100 ms in which the window is full: simplex", own, "multiplexed", shared, "%", "at 5 %, 100 ms"
    )


def _window_limited(run: _native.Run) -> float:
    rows = columns(run, "tcp")
    servers = rows["side"] == "server"
    return float(100 * np.mean(rows["in_flight_bytes"][servers] >= rows["cwnd_bytes"][servers]))


@check("mux.proxycost")
def proxy_cost(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        "the paper's proxy is imaginary and ours is at the players and takes no time. The place of a real proxy decides"
    )


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    blocks = (*AT_100MS, *AT_300MS)
    arms = [multiplexed(block, setting) for block in blocks for setting in SETTINGS]
    arms += [multiplexed(block, setting).with_(WITH_FACK) for block in blocks for setting in HIGH_SPEED]
    return [*arms, multiplexed(JITTERY), multiplexed().with_(STREAMS)]
