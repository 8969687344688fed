"""Claims about how queues work and where delay arises (sections II.B and III.B)."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    GAME,
    QUEUES,
    RTT_MEAN,
    THROUGHPUT_UP,
    UPLOAD,
    alone_at_40ms,
    base_ms,
    bulk_only,
    check,
    limit_packets,
    lost,
    mixed,
    paper,
)
from gamelane.claims.collom2016.uplink import Uplink
from gamelane.claims.evidence import Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.register import Check


def _each_run(evidence: Evidence, queue: str) -> Numbers:
    """Return what `_observed` finds in each run: a row per figure."""
    return np.array(evidence.derived(paper(queue), "uplink", _observed)).T


def _observed(run: _native.Run) -> list[float]:
    uplink = Uplink.of(run)
    waiting, before = uplink.waiting(uplink.drops), uplink.waits_before_drop_ms()
    congested = uplink.entered[(uplink.left - uplink.entered) * 1e3 > PIE_TARGET_MS]
    return [
        len(uplink.drops),
        uplink.overtakings(),
        waiting.min(),
        waiting.max(),
        waiting.mean(),
        uplink.waiting(uplink.entered).mean(),
        before.min() if len(before) else np.nan,
        before.max() if len(before) else np.nan,
        uplink.drops_at_a_leaving(),
        (uplink.drops[0] - congested[0]) * 1e3,
    ]


PIE_TARGET_MS = 15.0
"""From here on the queue counts as congested."""


@check("fifo.def")
def fifo(evidence: Evidence, _: Claim) -> Finding:
    drops, overtakings, least, most, *_rest = _each_run(evidence, "fifo")
    limit = limit_packets(evidence, paper("fifo"))
    return given(
        not overtakings.any() and bool((least == limit).all() and (most == limit).all()),
        f"{overtakings.sum():.0f} packets overtaken; at each of {drops.sum():.0f} drops {least.min():.0f} or more of"
        f" {limit} packets wait",
    )


@check("pie.def")
def pie(evidence: Evidence, claim: Claim) -> Finding:
    drops, overtakings, _, most, at_drops, at_arrivals, _, waited, _, spared = _each_run(evidence, "pie")
    return findings.all_of(
        given(
            not overtakings.any()
            and bool((most < limit_packets(evidence, paper("pie"))).all() and (waited < NONE_MS).all()),
            f"{drops.sum():.0f} drops with at most {most.max():.0f} packets in the queue; dropped packets of the game"
            f" waited {waited.max():.1f} ms",
        ),
        findings.less("waiting at other arrivals", at_arrivals, "at drops", at_drops, "packets"),
        given(
            bool((spared >= claim.limits["burst_ms"]).all()),
            f"first drop {spared.min():.0f} ms after the delay first exceeds {PIE_TARGET_MS:g} ms",
        ),
        why="tests of crates/qdisc check how the probability follows the delay. No check shows that drops are random",
    )


NONE_MS = 0.001
"""A shorter wait is none."""


@check("codel.def")
def codel(evidence: Evidence, claim: Claim) -> Finding:
    drops, overtakings, *_rest, waited, _, leaving, _ = _each_run(evidence, "codel")
    return given(
        not overtakings.any() and bool((leaving == 100).all() and (waited >= claim.limits["target_ms"]).all()),
        f"{leaving.min():.0f} % of {drops.sum():.0f} drops fall when a packet leaves; dropped packets of the game had"
        f" waited {waited.min():.3g} ms and more",
    )


def _flow_queue(queue: str, *, at_the_head: bool) -> Check:
    def measure(run: _native.Run) -> list[float]:
        uplink = Uplink.of(run)
        return [
            uplink.overtakings(GAME) + uplink.overtakings(UPLOAD),
            uplink.overtakings(GAME, UPLOAD),
            uplink.drops_at_a_leaving(),
            float(np.sum(uplink.dropped == UPLOAD)),
        ]

    def judge_queue(evidence: Evidence, claim: Claim) -> Finding:
        within, between, leaving, upload = np.array(evidence.derived(paper(queue), "flow-queue", measure)).T
        percent = claim.limits["percent"]
        own_law = leaving >= percent if at_the_head else leaving <= percent
        return given(
            not within.any()
            and bool((between > 0).all() and (upload > 0).all() and own_law.all())
            and not lost(evidence, paper(queue)).any(),
            f"{within.sum():.0f} packets overtaken within a flow, {between.sum():.0f} between game and upload;"
            f" {upload.sum():.0f} drops of the upload and {lost(evidence, paper(queue)).sum():.0f} of the game;"
            f" {leaving.mean():.3g} % of the drops fall when a packet leaves",
            "tests of crates/qdisc check the salted hash, the shares of deficit round robin and the law itself",
        )

    return judge_queue


check("fqcodel.def")(_flow_queue("fq_codel", at_the_head=True))


check("fqpie.def")(_flow_queue("fq_pie", at_the_head=False))


@check("fifo.fastlink")
def fifo_fast_link(evidence: Evidence, claim: Claim) -> Finding:
    backlog = "queues.up.backlog_packets.mean"
    mean = evidence.values(alone_at_40ms(), backlog)
    return findings.all_of(
        findings.below(mean, claim.limits["packets"], "packets wait on average with the game alone"),
        findings.less("alone", mean, "with all traffic", evidence.values(paper("fifo"), backlog), "packets"),
    )


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
    arms = {queue: mixed(queue, 1000) for queue in QUEUES}
    delay = {queue: evidence.values(arm, f"flows.{UPLOAD}.up.queue_delay_ms.mean") for queue, arm in arms.items()}
    seconds = evidence.scenario(arms["fifo"]).duration_s
    full = [
        evidence.values(arms[queue], f"queues.up.drops.{reason}")
        for queue in QUEUES[1:]
        for reason in ("tail", "overlimit")
    ]
    never_full = findings.zero(np.concatenate(full), "packets")
    found = [Finding(never_full.outcome, f"dropped because the queue is full: {never_full.ours}")]
    for queue in QUEUES[1:]:
        early = evidence.values(arms[queue], "queues.up.drops.aqm") / seconds
        found += [
            findings.above(early, 0, f"drops a second by {queue}"),
            findings.less("its delay", delay[queue], "fifo's", delay["fifo"], "ms"),
        ]
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

    arms = [mixed("fq_codel", 1000, rtt=rtt) for rtt in BASE_RTTS]
    above = {arm: np.array(evidence.derived(arm, "floor", measure)) - base_ms(evidence, arm) for arm in arms}
    return given(
        all((least >= 0).all() for least in above.values()),
        f"the lowest is {min(least.min() for least in above.values()):.2g} to"
        f" {max(least.max() for least in above.values()):.2g} ms above the base, at {len(arms)} bases",
    )


@check("bulk.fills")
def bulk_fills(evidence: Evidence, claim: Claim) -> Finding:
    arm = bulk_only("fifo")
    capacity = _native.read_quantity(evidence.document(arm)["link"]["up"], "rate")
    rest = capacity - evidence.values(arm, THROUGHPUT_UP)
    upload = evidence.values(arm, f"flows.{UPLOAD}.up.throughput_bps.mean")
    return findings.near(
        100 * upload / rest, 100, claim.limits["percent"], "% of what the game leaves of the uplink is upload"
    )
