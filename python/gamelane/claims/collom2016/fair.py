"""All traffic behind flow queues, and the claims about all queues (Figs. 16 to 21)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    FAST,
    FLOW_QUEUES,
    GAME,
    GAMES,
    LOADED_S,
    QUEUES,
    RTT_MAX,
    RTT_MEAN,
    RTT_MEDIAN,
    SLOW,
    added,
    alone_at_40ms,
    check,
    cv,
    every_game_and_rtt,
    fluctuation,
    loss_percent,
    lost,
    mixed,
    near_above_base,
    own_client,
    paper,
    playing,
)
from gamelane.claims.collom2016.single import peak
from gamelane.claims.collom2016.uplink import Uplink
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, given
from gamelane.claims.register import Check


@check("fqpie.max")
def fq_pie_peak(evidence: Evidence, claim: Claim) -> Finding:
    return peak(evidence, claim, "fq_pie")


@check("fqcodel.max")
def fq_codel_peak(evidence: Evidence, claim: Claim) -> Finding:
    return peak(evidence, claim, "fq_codel")


@check("fqpie.mean")
def fq_pie_mean(evidence: Evidence, claim: Claim) -> Finding:
    return near_above_base(
        evidence,
        claim,
        paper("fq_pie"),
        RTT_MEAN,
        "a sparse flow waits for at most one 1500 B packet, 12 ms at 1 Mbit/s, and on average for half of one. What a"
        " testbed adds (dummynet's clock tick, scheduling of hosts) is not simulated",
    )


@check("fqpie.added")
def fq_pie_added(_: Evidence, claim: Claim) -> Finding:
    theirs = claim.theirs
    ours = {"lo": theirs["mean"] - theirs["base"], "hi": theirs["max"] - theirs["base"]}
    return given(ours["lo"] == theirs["lo"] and ours["hi"] == theirs["hi"], ours, "fqpie.mean and fqpie.max compare it")


@check("fqcodel.vs-fqpie")
def fq_alike(evidence: Evidence, claim: Claim) -> Finding:
    codel, pie = (added(evidence, paper(queue), RTT_MAX) for queue in FLOW_QUEUES)
    return findings.near(
        100 * codel / pie,
        100,
        claim.limits["percent"],
        "% of FQ-PIE's peak above the base",
        "a peak is one packet of 60 s, so it varies from seed to seed. Means:"
        f" {' and '.join(findings.number(evidence.values(paper(queue), RTT_MEAN)) for queue in FLOW_QUEUES)} ms",
    )


@check("fq.rtt-order")
def rtt_order(evidence: Evidence, _: Claim) -> Finding:
    peaks = {queue: evidence.values(paper(queue), RTT_MAX) for queue in QUEUES}
    peaks["fq"] = np.maximum(*(peaks[queue] for queue in FLOW_QUEUES))
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
def fq_throughput(evidence: Evidence, claim: Claim) -> Finding:
    of = {queue: fluctuation(evidence, paper(queue)) for queue in QUEUES}
    alone, percent = fluctuation(evidence, alone_at_40ms()), claim.limits["percent"]
    upstream = (f"{queue} {findings.number(cv(evidence, paper(queue), 'up'))}" for queue in QUEUES)
    return findings.all_of(
        *(
            findings.less(f"cv {fq}", of[fq], other, of[other], "")
            for fq in FLOW_QUEUES
            for other in ("codel", "pie", "fifo")
        ),
        *(findings.near(_percent(of[fq], alone), 100, percent, f"% of that alone, {fq}") for fq in FLOW_QUEUES),
        findings.near(_percent(of["fq_codel"], of["fq_pie"]), 100, percent, "% of FQ-PIE's, fq_codel"),
        why="the larger of both directions counts. Behind CoDel and flow queues that is downstream, where the game's"
        f" own sizes vary. Upstream alone: {', '.join(upstream)}",
    )


def _percent(part: Numbers, whole: Numbers) -> Numbers:
    """Return a ratio in per cent, without the error of the division. Equal values, also zeros, are 100 %."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part == whole, 100, np.round(100 * part / whole, 6))


@check("fq.sparse")
def fq_sparse(evidence: Evidence, claim: Claim) -> Finding:
    def measure(run: _native.Run) -> float:
        """Return the share of the game's packets upstream that find no earlier one in the queue."""
        uplink = Uplink.of(run)
        own = uplink.flow == GAME
        entered, left = uplink.entered[own], uplink.left[own]
        late = entered[1:] >= LOADED_S
        return 100 * float(np.mean(left[:-1][late] <= entered[1:][late]))

    def share(arm: Arm) -> Numbers:
        return np.array(evidence.derived(arm, "sparse", measure))

    own = (f"{queue} {findings.number(share(own_client(paper(queue))))} %" for queue in FLOW_QUEUES)
    return findings.all_of(
        *(
            findings.above(share(paper(queue)), claim.limits["percent"], f"% of the client's packets behind {queue}")
            for queue in FLOW_QUEUES
        ),
        why="a packet of the upload takes 12 ms, and TEACUP's client sends every 10 ms. With the game's own client,"
        f" every 33 ms: {', '.join(own)}",
    )


@check("fq.base-sweep")
def fq_base_sweep(evidence: Evidence, claim: Claim) -> Finding:
    medians = [added(evidence, mixed("fq_codel", 1000, rtt=rtt), RTT_MEDIAN) for rtt in BASE_RTTS]
    return findings.all_of(
        *(
            findings.below(median, claim.limits["ms"], f"ms at {rtt}")
            for rtt, median in zip(BASE_RTTS, medians, strict=True)
        ),
        findings.below(np.ptp(medians, axis=0), claim.limits["spread_ms"], "ms between the highest and the lowest"),
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
        return evidence.values(paper("fifo", link), RTT_MEAN) - evidence.values(paper("fq_codel", link), RTT_MEAN)

    return findings.less("FQ-CoDel saves at 50/20", benefit(FAST), "at 12/1", benefit(SLOW), "ms")


@check("all-aqm-help")
def every_aqm_helps(evidence: Evidence, _: Claim) -> Finding:
    fifo = evidence.values(paper("fifo"), RTT_MEAN)
    return findings.all_of(
        *(findings.less(queue, evidence.values(paper(queue), RTT_MEAN), "fifo", fifo, "ms") for queue in QUEUES[1:])
    )


@check("all-games-same")
def games_alike(evidence: Evidence, claim: Claim) -> Finding:
    """Compare delay and loss. Behind a flow queue no game loses anything, which other claims say."""
    found = []
    for queue in QUEUES:
        measures = {"mean": _mean, "peak": _peak} | ({} if queue in FLOW_QUEUES else {"loss": loss_percent})
        for name, measure in measures.items():
            quake3, *others = (measure(evidence, playing(paper(queue), game)) for game in GAMES.values())
            unit = f"% of Quake III's {name} behind {queue}"
            ratios = [_percent(other, quake3) for other in others]
            each = [findings.near(ratio, 100, claim.limits["percent"], unit) for ratio in ratios]
            farthest = int(np.argmax([abs(ratio.mean() - 100) for ratio in ratios]))
            found.append(Finding(findings.all_of(*each).outcome, each[farthest].ours))
    return findings.all_of(
        *found,
        why="of each measure the game that is farthest off. TEACUP's client sends the same for every game, and the"
        " uplink decides the delay, so behind FIFO the games cannot differ by much",
    )


def _mean(evidence: Evidence, arm: Arm) -> Numbers:
    return added(evidence, arm, RTT_MEAN)


def _peak(evidence: Evidence, arm: Arm) -> Numbers:
    return added(evidence, arm, RTT_MAX)
