"""Claims about how queues work and where delay arises (sections II.B and III.B)."""

from __future__ import annotations

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    GAME,
    QUEUES,
    RTT_MEAN,
    THROUGHPUT_UP,
    UPLOAD,
    alone,
    bulk_only,
    check,
    mixed,
    paper,
)
from gamelane.claims.evidence import Arm, Evidence, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.register import Check


def _reasons(evidence: Evidence, arm: Arm) -> set[str]:
    def measure(run: _native.Run) -> set[str]:
        return set(columns(run, "drops")["reason"])

    return set().union(*evidence.derived(arm, "reasons", measure))


def _drops_only(queue: str, allowed: set[str], how: str) -> Check:
    def judge_drops(evidence: Evidence, _: Claim) -> Finding:
        reasons = _reasons(evidence, paper(queue))
        return given(bool(reasons) and reasons <= allowed, f"drops: {', '.join(sorted(reasons))}", how)

    return judge_drops


check("fifo.def")(_drops_only("fifo", {"tail"}, "a test of every queue checks the order within each flow"))


check("pie.def")(_drops_only("pie", {"aqm-enqueue", "tail"}, "the law is that of RFC 8033, tested step by step"))


check("codel.def")(_drops_only("codel", {"aqm-dequeue", "tail"}, "the law is that of RFC 8289, tested drop by drop"))


check("fqcodel.def")(
    _drops_only("fq_codel", {"aqm-dequeue", "overlimit"}, "salted 5-tuple hash, DRR, CoDel in each queue (RFC 8290)")
)


check("fqpie.def")(
    _drops_only("fq_pie", {"aqm-enqueue", "overlimit"}, "the scheduler of FQ-CoDel with PIE in each queue")
)


@check("fifo.fastlink")
def fifo_fast_link(evidence: Evidence, _: Claim) -> Finding:
    mean = evidence.values(alone(), "queues.up.backlog_packets.mean")
    return given(float(mean.max()) < 0.1, f"mean backlog {findings.number(mean)} packets while 70 kbit/s use 1 Mbit/s")


@check("fifo.bufferbloat")
def bufferbloat(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "100 packets",
        evidence.values(mixed("fifo", 100), RTT_MEAN),
        "1000 packets",
        evidence.values(mixed("fifo", 1000), RTT_MEAN),
        "ms",
    )


@check("aqm.early")
def drops_early(evidence: Evidence, _: Claim) -> Finding:
    fifo = evidence.values(mixed("fifo", 1000), f"flows.{UPLOAD}.up.queue_delay_ms.mean")
    found = []
    for queue in QUEUES[1:]:
        delay = evidence.values(mixed(queue, 1000), f"flows.{UPLOAD}.up.queue_delay_ms.mean")
        peak = evidence.values(mixed(queue, 1000), "queues.up.backlog_packets.max")
        found.append(findings.less(f"{queue} delay", delay, "fifo delay", fifo, "ms"))
        found.append(given(float(peak.max()) < 1000, f"{queue} peak {findings.number(peak)} of 1000 packets"))
    return findings.all_of(*found)


@check("upstream-first")
def upstream_first(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "down",
        evidence.values(paper("fifo"), f"flows.{GAME}.down.queue_delay_ms.mean"),
        "up",
        evidence.values(paper("fifo"), f"flows.{GAME}.up.queue_delay_ms.mean"),
        "ms",
    )


@check("rtt-floor")
def rtt_floor(evidence: Evidence, _: Claim) -> Finding:
    def measure(run: _native.Run) -> float:
        return float(columns(run, "rtt")["rtt_ms"].min())

    lowest = {rtt: min(evidence.derived(mixed("fq_codel", 1000, rtt=rtt), "floor", measure)) for rtt in BASE_RTTS}
    return given(
        all(lowest[rtt] >= float(rtt.removesuffix("ms")) for rtt in BASE_RTTS),
        ", ".join(f"base {rtt}: lowest {least:.1f} ms" for rtt, least in lowest.items()),
    )


@check("bulk.fills")
def bulk_fills(evidence: Evidence, _: Claim) -> Finding:
    arm = bulk_only("fifo")
    share = evidence.values(arm, f"flows.{UPLOAD}.up.throughput_bps.mean")
    game = evidence.values(arm, THROUGHPUT_UP)
    return findings.near((share + game) / 1e6, 1.0, 10, "Mbit/s up, upload and game together")
