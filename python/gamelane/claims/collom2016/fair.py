"""All traffic behind flow queues, and the claims about all queues (Figs. 16 to 21)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    FAST,
    GAME,
    GAMES,
    QUEUES,
    RTT_MAX,
    RTT_MEAN,
    RTT_MEDIAN,
    SLOW,
    check,
    every_game_and_rtt,
    fluctuation,
    lost,
    mixed,
    paper,
)
from gamelane.claims.collom2016.single import peak
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.register import Check


@check("fqpie.max")
def fq_pie_peak(evidence: Evidence, _: Claim) -> Finding:
    return peak(evidence, "fq_pie", 75)


@check("fqcodel.max")
def fq_codel_peak(evidence: Evidence, _: Claim) -> Finding:
    return peak(evidence, "fq_codel", 80)


@check("fqpie.mean")
def fq_pie_mean(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(evidence.values(paper("fq_pie"), RTT_MEAN), 60, 30, "ms")


@check("fqpie.added")
def fq_pie_added(evidence: Evidence, _: Claim) -> Finding:
    mean = evidence.values(paper("fq_pie"), RTT_MEAN) - 40
    peak = evidence.values(paper("fq_pie"), RTT_MAX) - 40
    return findings.all_of(
        findings.between(mean, 20 * 0.7, 35 * 1.3, "ms added on average"),
        findings.between(peak, 20 * 0.7, 35 * 1.3, "ms added at most"),
        why="a sparse flow waits for at most one 1500 B packet, 12 ms at 1 Mbit/s, and on average for half of one",
    )


@check("fqcodel.vs-fqpie")
def fq_alike(evidence: Evidence, _: Claim) -> Finding:
    ratio = evidence.values(paper("fq_codel"), RTT_MAX) / evidence.values(paper("fq_pie"), RTT_MAX)
    return findings.near(ratio, 1, 30, "of FQ-PIE's maximum")


@check("fq.rtt-order")
def rtt_order(evidence: Evidence, _: Claim) -> Finding:
    peaks = {queue: evidence.values(paper(queue), RTT_MAX) for queue in QUEUES}
    peaks["fq"] = np.maximum(peaks["fq_pie"], peaks["fq_codel"])
    order = ("fq", "codel", "pie", "fifo")
    return findings.all_of(*(findings.less(a, peaks[a], b, peaks[b], "ms") for a, b in pairwise(order)))


def _never_loses(queue: str) -> Check:
    def judge_queue(evidence: Evidence, _: Claim) -> Finding:
        all_lost = np.concatenate([lost(evidence, arm) for arm in every_game_and_rtt(queue)])
        return findings.zero(all_lost, "packets", "7 games at 8 round-trip times")

    return judge_queue


check("fqcodel.loss0")(_never_loses("fq_codel"))


check("fqpie.loss0")(_never_loses("fq_pie"))


@check("fq.thr")
def fq_throughput(evidence: Evidence, _: Claim) -> Finding:
    cv = {queue: fluctuation(evidence, paper(queue)) for queue in QUEUES}
    found = [
        findings.less(f"cv {fq}", cv[fq], other, cv[other], "")
        for fq in ("fq_codel", "fq_pie")
        for other in ("codel", "pie", "fifo")
    ]
    return findings.all_of(*found)


@check("fq.sparse")
def fq_sparse(evidence: Evidence, _: Claim) -> Finding:
    def measure(run: _native.Run) -> float:
        """Return the share of the game's upstream packets that waited less than 10 ms, its packet interval."""
        rows = columns(run, "delay")
        own = (rows["flow"] == GAME) & (rows["direction"] == "up") & (rows["t_s"] >= 12)
        return float(np.mean(rows["queue_delay_ms"][own] < 10))

    found = []
    for queue in ("fq_codel", "fq_pie"):
        share = np.array(evidence.derived(paper(queue), "sparse", measure)) * 100
        found.append(findings.between(share, 50, 100, f"% of client packets left {queue} before the next one arrived"))
    return findings.all_of(*found)


@check("fq.base-sweep")
def fq_base_sweep(evidence: Evidence, _: Claim) -> Finding:
    added = {
        rtt: evidence.values(mixed("fq_codel", 1000, rtt=rtt), RTT_MEDIAN) - float(rtt.removesuffix("ms"))
        for rtt in BASE_RTTS
    }
    means = [float(values.mean()) for values in added.values()]
    return given(
        max(means) < 20 and max(means) - min(means) < 10,
        ", ".join(f"{rtt}: +{findings.number(values)}" for rtt, values in added.items()) + " ms",
    )


def _iqr(evidence: Evidence, arm: Arm) -> Numbers:
    return evidence.values(arm, f"flows.{GAME}.rtt_ms.p75") - evidence.values(arm, f"flows.{GAME}.rtt_ms.p25")


@check("fq.fast-link")
def fq_fast_link(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        *(
            findings.less(
                f"{rtt}: 50/20",
                _iqr(evidence, mixed("fq_codel", 1000, FAST, rtt)),
                "12/1",
                _iqr(evidence, mixed("fq_codel", 1000, SLOW, rtt)),
                "ms",
            )
            for rtt in BASE_RTTS
        )
    )


@check("fast-link.no-aqm")
def fast_link_benefit(evidence: Evidence, _: Claim) -> Finding:
    def benefit(link: tuple[str, str]) -> Numbers:
        fifo = evidence.values(mixed("fifo", 100, link), RTT_MEAN)
        return fifo - evidence.values(mixed("fq_codel", 1000, link), RTT_MEAN)

    return findings.less("FQ-CoDel saves at 50/20", benefit(FAST), "at 12/1", benefit(SLOW), "ms")


@check("all-aqm-help")
def every_aqm_helps(evidence: Evidence, _: Claim) -> Finding:
    fifo = evidence.values(paper("fifo"), RTT_MEAN)
    return findings.all_of(
        *(findings.less(queue, evidence.values(paper(queue), RTT_MEAN), "fifo", fifo, "ms") for queue in QUEUES[1:])
    )


@check("all-games-same")
def games_alike(evidence: Evidence, _: Claim) -> Finding:
    ranks, peaks = {}, {}
    for game in GAMES:
        means = [evidence.values(paper(queue).with_({f"flow.{GAME}.model": game}), RTT_MEAN).mean() for queue in QUEUES]
        ranks[game] = tuple(np.argsort(means)[-3:])
        peaks[game] = float(evidence.values(paper("fifo").with_({f"flow.{GAME}.model": game}), RTT_MAX).mean())
    spread = max(peaks.values()) / min(peaks.values()) - 1
    return given(
        len(set(ranks.values())) == 1 and spread < 0.30,
        f"same order of queues by mean RTT in {sum(rank == ranks['quake3'] for rank in ranks.values())} of"
        f" {len(GAMES)} games, FIFO peaks within {spread:.1%}",
        "TEACUP's client stream is the same for every game, and the uplink determines the delay",
    )
