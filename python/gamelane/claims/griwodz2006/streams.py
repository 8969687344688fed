"""What TCP does to thin streams (sections 1, 2, 4 and 5): timeouts, windows, merged writes, and the lag of a player."""

from __future__ import annotations

from math import inf

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.griwodz2006.arms import PLAYERS, TCP, Condition, check, duration_s, simplex, thin
from gamelane.claims.griwodz2006.readings import agreed
from gamelane.claims.griwodz2006.trace import NO_LOSS, bursty, trace

DATAGRAMS = {f"flow.{PLAYERS}.carriage": "datagrams"}
LOSSY = Condition(5, 100, 0)
FREE = simplex().with_(NO_LOSS)
FULL_SEGMENT = 1448
QUEUES = {"a queue of 20 packets": "20p", "a queue of 1000 packets": "1000p"}


def _narrow(limit: str) -> Arm:
    return FREE.with_({"link.down": "100kbit", "gateway.down.limit": limit})


@check("trace.timeouts")
def timeouts(evidence: Evidence, claim: Claim) -> Finding:
    slow, fast = (thin(evidence, trace(), f"{kind}_retransmissions") for kind in ("timeout", "fast"))
    return findings.above(100 * slow / (slow + fast), claim.limits["percent"], "% of the retransmissions")


@check("trace.nobackoff")
def no_back_off(evidence: Evidence, claim: Claim) -> Finding:
    free, lossy = (_offered(evidence, arm) for arm in (FREE, simplex(LOSSY)))
    least = claim.limits["percent"]
    narrow = {name: _offered(evidence, _narrow(limit)) for name, limit in QUEUES.items()}
    lost = 100 * evidence.values(_narrow("1000p"), f"flows.{PLAYERS}.down.loss")
    bottleneck = agreed(
        {
            name: findings.between(100 * offered / free, least, inf, "% of the rate without loss")
            for name, offered in narrow.items()
        },
        "the paper names no bottleneck",
    )
    return findings.all_of(
        findings.between(100 * lossy / free, least, inf, f"% of the rate without loss, at {LOSSY}"),
        bottleneck,
        why=f"the streams need {findings.number(free)} kbit/s, the bottleneck has 100. Retransmissions raise the rate."
        f" The long queue loses only {findings.number(lost)} %, but its ACKs come late: writes wait for the window and"
        " leave in fewer packets",
    )


def _offered(evidence: Evidence, arm: Arm) -> Numbers:
    """Return what the servers send in kbit/s, with retransmissions and with packets that the queue drops."""
    return evidence.values(arm, f"flows.{PLAYERS}.down.sent_bytes") * 8 / duration_s(evidence) / 1e3


@check("trace.cwnd")
def window(evidence: Evidence, claim: Claim) -> Finding:
    def segments(run: _native.Run) -> tuple[float, float]:
        rows = columns(run, "tcp")
        servers = (rows["side"] == "server") & (rows["srtt_ms"] > 0)
        windows = rows["cwnd_bytes"][servers] / FULL_SEGMENT
        # Timers that doubled at least twice: without doubling they are the round trip and 200 ms.
        backed_off = rows["rto_ms"][servers] > 2.5 * (rows["srtt_ms"][servers] + 200)
        return float(np.median(windows)), float(windows[backed_off].mean()) if backed_off.any() else np.nan

    median = np.array(evidence.derived(trace(), "windows", segments), dtype=float)[:, 0]
    repeated = np.array(evidence.derived(simplex(LOSSY), "windows", segments), dtype=float)[:, 1]
    return findings.all_of(
        findings.below(median, claim.limits["median"], "segments are the median in the trace"),
        findings.below(repeated, claim.limits["repeated"], f"segments after repeated timeouts, at {LOSSY}"),
        why="of four connections, sampled every 100 ms",
    )


@check("trace.merge")
def merged(evidence: Evidence, _: Claim) -> Finding:
    slow = simplex(Condition(5, 300, 0))
    apart = slow.with_({f"{TCP}.merge_writes": "false"})
    return findings.less(
        "packets",
        thin(evidence, slow, "packets"),
        "writes",
        thin(evidence, slow, "down.messages"),
        "",
        "at 5 %, 300 ms: writes merge while the window is one segment after a timeout. Without `merge_writes`, which"
        f" joins writes of segments not yet sent, it is {findings.number(thin(evidence, apart, 'packets'))} packets",
    )


@check("trace.tcp-eq-udp")
def as_fast_as_udp(evidence: Evidence, claim: Claim) -> Finding:
    tcp, udp = (thin(evidence, FREE.with_(change), "down.delivery_ms.mean") for change in ({}, DATAGRAMS))
    return findings.near(tcp / udp, 1, claim.limits["percent"], "of the mean delivery delay over datagrams")


@check("trace.hol")
def head_of_line(evidence: Evidence, _: Claim) -> Finding:
    tcp, udp = simplex(LOSSY), simplex(LOSSY).with_(DATAGRAMS)
    return findings.all_of(
        *(
            findings.less(
                f"{what}: datagrams",
                thin(evidence, udp, f"down.{path}"),
                "TCP",
                thin(evidence, tcp, f"down.{path}"),
                "ms",
            )
            for what, path in (
                ("mean wait of a complete message", "held_ms.mean"),
                ("99 % delivery delay", "delivery_ms.p99"),
            )
        ),
        why=f"at {LOSSY}. The datagrams repeat what is not acknowledged",
    )


@check("trace.lag-cause")
def cause_of_lag(evidence: Evidence, claim: Claim) -> Finding:
    def share(run: _native.Run) -> float:
        rows = columns(run, "retransmissions")
        late = rows["application_delay_ms"] > 1000 * claim.limits["seconds"]
        return 100 * float(np.mean(rows["retransmissions"][late] > 1)) if late.any() else np.nan

    independent, in_bursts, testbed = (
        np.array(evidence.derived(arm, "repeated", share), dtype=float) for arm in (trace(), bursty(), simplex())
    )
    return findings.above(
        independent,
        claim.limits["percent"],
        "% of the late packets were retransmitted more than once",
        "on the generator's long paths one timeout is enough for a second. With the same mean of losses in bursts of 2"
        f" packets it is {findings.number(in_bursts)} %. On the testbed's 100 ms it is {findings.number(testbed)} %,"
        " but there no single timeout takes a second",
    )


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [
        bursty(),
        FREE,
        FREE.with_(DATAGRAMS),
        simplex(LOSSY).with_(DATAGRAMS),
        simplex(Condition(5, 300, 0)).with_({f"{TCP}.merge_writes": "false"}),
        *(_narrow(limit) for limit in QUEUES.values()),
    ]
