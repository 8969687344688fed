"""Claims about streams that fill a link: changes for thin streams must not affect them; and the windows of section 3.

They have a scenario of their own, `bulk.toml`: two transfers over 10 Mbit/s, 40 ms and a FIFO of 100 packets.
"""

from __future__ import annotations

from importlib import resources
from itertools import pairwise
from math import inf

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import Condition, check, delay, modified, simplex, thin
from gamelane.claims.griwodz2006.readings import agreed

ALONE = {"flow.other.enabled": "false"}
VARYING = {"link.rtt": "20ms", "flow.one.path_jitter": "200ms"}
"""Round trips of 20 to 420 ms."""
LONG = ALONE | {"link.rtt": "100ms", "duration": "120s"}
FULL_SEGMENT = 1448
SAMPLES_A_SECOND = 10
QUEUES = {"queue of 20 packets": "20p", "queue of 100 packets": "100p"}
"""Shorter and longer than the 34 packets that fill the path."""


def scenario() -> _native.Scenario:
    """Return the scenario of bulk transfers."""
    file = resources.files(__name__.rpartition(".")[0]) / "bulk.toml"
    return _native.Scenario.parse(file.read_text(encoding="utf-8"), "bulk.toml", [])


def _own(evidence: Evidence) -> Evidence:
    return evidence.beside("bulk", scenario)


def _repeated(evidence: Evidence, timer: str, **more: str) -> Numbers:
    """Return the segments that a transfer over a varying path sends again."""
    keys = {"timer": timer} | more
    arm = Arm.of(ALONE | VARYING | {f"flow.one.tcp.{key}": value for key, value in keys.items()})
    return _own(evidence).values(arm, "flows.one.retransmissions")


def _left_alone(evidence: Evidence) -> Finding:
    standard, changed = (_repeated(evidence, timer) for timer in ("linux-2.6", "modified"))
    return given(
        bool(np.all(standard == changed)),
        f"bulk transfer: {findings.number(standard)} segments sent again with the standard timeout,"
        f" {findings.number(changed)} with the modified",
        "the round trip of the transfer varies between 20 and 420 ms. With three or more segments in flight it keeps"
        " the standard timeout, so each run sends the same packets",
    )


@check("mod.thin")
def only_thin_streams(evidence: Evidence, _: Claim) -> Finding:
    thin_stream = Condition(5, 100, 0)
    return findings.all_of(
        findings.less(
            "thin streams, first retransmission: modified",
            delay(evidence, modified(thin_stream), 1),
            "standard",
            delay(evidence, simplex(thin_stream), 1),
            "ms",
        ),
        _left_alone(evidence),
        why="that the limit is three packets in flight is tested in crates/tcp/tests/endpoints/timers.rs",
    )


@check("mod.vs-fixedrto")
def unlike_a_fixed_timeout(evidence: Evidence, _: Claim) -> Finding:
    changed = _repeated(evidence, "modified")
    fixed = {
        f"fixed at {length}": findings.less(
            "modified", changed, "fixed", _repeated(evidence, "fixed", fixed_rto=length), "segments sent again"
        )
        for length in ("200ms", "600ms")
    }
    return findings.all_of(_left_alone(evidence), agreed(fixed, "the paper does not say how long the fixed timeout is"))


@check("var.vegas-loses")
def vegas_loses(evidence: Evidence, _: Claim) -> Finding:
    return findings.less("Vegas", *_beside_reno(evidence, "vegas", "100p"), "Mbit/s")


@check("var.westwood-keeps")
def westwood_keeps(evidence: Evidence, _: Claim) -> Finding:
    ways = {}
    for name, limit in QUEUES.items():
        own, _reno, other = _beside_reno(evidence, "westwood", limit)
        ways[name] = findings.between(own - other, 0, inf, "Mbit/s more than New Reno")
    return agreed(ways, "the paper does not say how long the queue is")


def _beside_reno(evidence: Evidence, congestion: str, limit: str) -> tuple[Numbers, str, Numbers]:
    own = _own(evidence)
    arm = Arm.of({"flow.one.tcp.congestion": congestion, "gateway.down.limit": limit})
    one, other = (own.values(arm, f"flows.{flow}.goodput_bps") / 1e6 for flow in ("one", "other"))
    return one, "New Reno beside it", other


@check("var.vegas-stable")
def vegas_is_stable(evidence: Evidence, _: Claim) -> Finding:
    own = _own(evidence)
    vegas, reno = (
        Arm.of({f"flow.{flow}.tcp.congestion": kind for flow in ("one", "other")}) for kind in ("vegas", "newreno")
    )
    path = "flows.one.down.throughput_bps.cv"
    return findings.less(
        "coefficient of variation of a transfer's rate: two with Vegas",
        own.values(vegas, path),
        "two with New Reno",
        own.values(reno, path),
        "",
        "measured each second",
    )


@check("var.bic")
def bic(evidence: Evidence, _: Claim) -> Finding:
    def growth(run: _native.Run) -> list[float]:
        rows = columns(run, "tcp")
        return _after_losses(rows["cwnd_bytes"][rows["side"] == "server"] / FULL_SEGMENT)

    arm = Arm.of(LONG | {"flow.one.tcp.congestion": "bic"})
    early, late = np.array(_own(evidence).derived(arm, "growth", growth), dtype=float).T
    small, reno = (simplex(Condition(5, 100, 0), setting) for setting in ("BIC", "New Reno"))
    same = [thin(evidence, each, "timeouts") for each in (small, reno)]
    return findings.all_of(
        findings.less("a transfer alone, 5 to 10 s after a loss", late, "in the first 2 s", early, "segments a second"),
        given(bool(np.all(same[0] == same[1])), "thin streams have as many timeouts as with New Reno, run by run"),
        why="the steps shrink towards the window of the last loss. Below 14 segments BIC is Reno; steps are at most 16"
        " segments (crates/tcp/src/congestion/bic.rs)",
    )


def _after_losses(window: Numbers) -> list[float]:
    """Return the growth after losses in segments a second: in the first 2 s, and from 5 to 10 s."""
    falls = np.flatnonzero(window[1:] < 0.9 * window[:-1]) + 1
    stretches = [window[start:end] for start, end in pairwise(falls) if end - start >= 10 * SAMPLES_A_SECOND]
    steps = [np.diff(stretch) * SAMPLES_A_SECOND for stretch in stretches]
    early = np.mean([each[: 2 * SAMPLES_A_SECOND].mean() for each in steps])
    late = np.mean([each[5 * SAMPLES_A_SECOND : 10 * SAMPLES_A_SECOND].mean() for each in steps])
    return [float(early), float(late)]
