"""All players over one connection to a proxy (section 4.3, table 1, figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, cannot_tell, given
from gamelane.claims.griwodz2006.arms import (
    AT_100MS,
    EXTENSIONS,
    HIGH_SPEED,
    SETTINGS,
    TCP,
    TRACE_SECONDS,
    Condition,
    check,
    multiplexed,
    retransmission_delay,
    simplex,
    thin,
    wire_bytes,
    wire_packets,
)

Measure = Callable[[Evidence, Arm], Numbers]


def _both(evidence: Evidence, of: Measure, theirs: tuple[float, float], percent: float, unit: str) -> Finding:
    found = [
        findings.near(of(evidence, arm), value, percent, f"{unit} {name}")
        for name, arm, value in zip(("simplex", "multiplexed"), (simplex(), multiplexed()), theirs, strict=True)
    ]
    return findings.all_of(*found)


COUNTED = (
    "table 1 counts both directions with Ethernet headers: (44974424 - 27582922) / (372711 - 113149) = 67.0 B for each"
    " packet saved"
)


@check("t1.time")
def time(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        f"the length of a replay is an input: {TRACE_SECONDS} s for both. The paper does not say why theirs differ"
        " by 51 s"
    )


@check("t1.bytes")
def total_bytes(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(_both(evidence, wire_bytes, (44974424, 27582922), 30, "B"), why=COUNTED)


@check("t1.packets")
def total_packets(evidence: Evidence, _: Claim) -> Finding:
    why = "372711 is twice the 184230 data packets of table 2 for the same condition: data and ACKs"
    return findings.all_of(_both(evidence, wire_packets, (372711, 113149), 30, "packets"), why=why)


@check("t1.size")
def mean_size(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(_both(evidence, _size, (120.67, 243.78), 10, "B"), why=COUNTED)


@check("trace.size")
def simplex_size(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(
        _size(evidence, simplex()), 120, 10, "B", "mean of data and ACKs on Ethernet; an input of the generator"
    )


def _size(evidence: Evidence, arm: Arm) -> Numbers:
    return wire_bytes(evidence, arm) / wire_packets(evidence, arm)


@check("t1.mbps")
def megabits(evidence: Evidence, _: Claim) -> Finding:
    found = _both(evidence, _rate, (0.194, 0.122), 30, "Mbit/s")
    return findings.all_of(found, why="table 1's bytes over its time")


def _rate(evidence: Evidence, arm: Arm) -> Numbers:
    return wire_bytes(evidence, arm) * 8 / TRACE_SECONDS / 1e6


@check("mux.save-bytes")
def saved_bytes(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(_saved(evidence, wire_bytes), 40, 30, "% of the bytes", "table 1's own numbers give 38.7 %")


@check("mux.save-packets")
def saved_packets(evidence: Evidence, _: Claim) -> Finding:
    saved = _saved(evidence, wire_packets)
    found = findings.near(saved, 40, 30, "% of the packets")
    table = abs(float(saved.mean()) - 69.6) <= 0.30 * 69.6
    why = (
        "the text's 40 % is true for bytes. Its own table 1 gives 1 - 113149/372711 = 69.6 % of the packets, which our"
        f" runs {'confirm' if table else 'do not confirm'}"
    )
    return Finding(found.outcome, found.ours, why)


def _saved(evidence: Evidence, of: Measure) -> Numbers:
    return 100 * (1 - of(evidence, multiplexed()) / of(evidence, simplex()))


@check("mux.sign")
def signs(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        *(
            findings.less(f"{small} {name}", of(evidence, lower), large, of(evidence, higher), unit)
            for name, of, unit, small, lower, large, higher in (
                ("bytes", wire_bytes, "B", "multiplexed", multiplexed(), "simplex", simplex()),
                ("packets", wire_packets, "", "multiplexed", multiplexed(), "simplex", simplex()),
                ("size", _size, "B", "simplex", simplex(), "multiplexed", multiplexed()),
            )
        )
    )


@check("mux.latency")
def latency(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in (Condition(1, 100, 0), Condition(1, 100, 10)):
        found.append(
            findings.less(
                f"multiplexed, {condition}",
                retransmission_delay(evidence, multiplexed(condition)),
                "simplex",
                retransmission_delay(evidence, simplex(condition)),
                "ms",
            )
        )
    waits = findings.number(_delivery(evidence, multiplexed()) - _delivery(evidence, simplex()))
    return findings.all_of(
        *found,
        why=f"retransmission delay, as in the figures. The delivery delay of a player changes by {waits} ms on average,"
        " because each loss now delays every player behind it",
    )


def _delivery(evidence: Evidence, arm: Arm) -> Numbers:
    return thin(evidence, arm, "down.delivery_ms.mean")


def _gain(evidence: Evidence, condition: Condition) -> Numbers:
    """Return the share of the retransmission delay that multiplexing saves, in per cent."""
    mux, direct = (retransmission_delay(evidence, arm(condition)) for arm in (multiplexed, simplex))
    return 100 * (1 - mux / direct)


@check("mux.highloss")
def high_loss(evidence: Evidence, _: Claim) -> Finding:
    low, high = (_gain(evidence, Condition(loss, 100, 0)) for loss in (1, 5))
    smaller = findings.less("gain at 5 %", high, "at 1 %", low, "%")
    gone = given(
        float(high.mean()) <= 10,
        f"which is {'' if float(high.mean()) <= 10 else 'not '}almost nothing",
        "almost nothing means at most a tenth of the delay",
    )
    return findings.all_of(smaller, gone, why=_delivery_gain(evidence))


def _delivery_gain(evidence: Evidence) -> str:
    tails = []
    for loss in (1, 5):
        condition = Condition(loss, 100, 0)
        mux, direct = (
            findings.number(thin(evidence, arm(condition), "down.delivery_ms.p99")) for arm in (multiplexed, simplex)
        )
        tails.append(f"{loss} %: {direct} ms simplex, {mux} ms multiplexed")
    return "99 % delivery delay " + "; ".join(tails)


@check("mux.fastretx")
def fast(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "by timeout",
        thin(evidence, multiplexed(), "timeout_retransmissions"),
        "fast",
        thin(evidence, multiplexed(), "fast_retransmissions"),
        "segments",
    )


@check("mux.delay300")
def delay300(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "gain at 300 ms",
        _gain(evidence, Condition(1, 300, 0)),
        "at 100 ms",
        _gain(evidence, Condition(1, 100, 0)),
        "% of the retransmission delay",
    )


@check("mux.highspeed", "mux.best")
def high_speed(evidence: Evidence, _: Claim) -> Finding:
    means = {
        setting: np.mean([retransmission_delay(evidence, multiplexed(c, setting)) for c in WITHOUT_JITTER], axis=0)
        for setting in SETTINGS
    }
    best = np.min([means[setting] for setting in EXTENSIONS], axis=0)
    others = [setting for setting in SETTINGS if setting not in EXTENSIONS]
    slowest = {
        setting: float(retransmission_delay(evidence, _with_fack(Condition(5, 100, 0), setting)).mean())
        for setting in HIGH_SPEED
    }
    fack = float(retransmission_delay(evidence, multiplexed(Condition(5, 100, 0))).mean())
    return findings.all_of(
        *(findings.less("best of DSACK, FACK", best, setting, means[setting], "ms") for setting in others),
        why="mean of 1 and 5 % at 100 ms. Selective acknowledgements make the difference. With FACK and at 5 %,"
        f" {', '.join(f'{setting} has {mean:.0f}' for setting, mean in slowest.items())} ms, New Reno {fack:.0f}",
    )


def _with_fack(condition: Condition, setting: str) -> Arm:
    return multiplexed(condition, setting).with_({f"{TCP}.recovery": "fack"})


@check("mux.cc")
def congestion_control(evidence: Evidence, _: Claim) -> Finding:
    shared, own = (
        np.array(evidence.derived(arm(Condition(5, 100, 0)), "limited", _window_limited), dtype=float)
        for arm in (multiplexed, simplex)
    )
    return findings.less(
        "samples of 100 ms in which the window is full: simplex", own, "multiplexed", shared, "%", "at 5 %, 100 ms"
    )


def _window_limited(run: _native.Run) -> float:
    rows = columns(run, "tcp")
    servers = rows["side"] == "server"
    return float(100 * np.mean(rows["in_flight_bytes"][servers] >= rows["cwnd_bytes"][servers]))


@check("mux.proxycost")
def proxy_cost(evidence: Evidence, _: Claim) -> Finding:
    without_loss = {"flow.players.loss": "0%"}
    mux, direct = (thin(evidence, arm().with_(without_loss), "down.delivery_ms.p5") for arm in (multiplexed, simplex))
    return given(
        bool(np.all(mux >= direct)),
        f"5 % delivery delay without loss: simplex {findings.number(direct)}, multiplexed {findings.number(mux)} ms",
        "the proxy is at the players and adds no time of its own, as the imaginary proxy of the paper",
    )


WITHOUT_JITTER = tuple(condition for condition in AT_100MS if not condition.jitter)


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    arms = [multiplexed(condition, setting) for condition in WITHOUT_JITTER for setting in SETTINGS]
    arms += [multiplexed(Condition(1, 300, 0)), multiplexed(Condition(1, 100, 10))]
    arms += [_with_fack(Condition(5, 100, 0), setting) for setting in HIGH_SPEED]
    return arms
