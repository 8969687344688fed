"""Upload against video (Figs. 22 to 25)."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    FAST,
    FLOW_QUEUES,
    GAME,
    LOADED_S,
    QUEUES,
    RTT_MAX,
    RTT_MEAN,
    UPLOAD,
    added,
    bulk_only,
    check,
    dash_only,
    fluctuation,
    loss_percent,
    lost,
    near_above_base,
    paper,
    rtt_period,
    small_window,
)
from gamelane.claims.evidence import Arm, Evidence, columns
from gamelane.claims.findings import Finding


@check("dash.lt-mixed")
def dash_below_mixed(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        *(
            findings.less(
                f"DASH only, {name}",
                evidence.values(dash_only("fifo"), path),
                "mixed",
                evidence.values(paper("fifo"), path),
                "ms",
            )
            for name, path in (("peak", RTT_MAX), ("mean", RTT_MEAN))
        )
    )


@check("dash.shape")
def dash_shape(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(rtt_period(evidence, dash_only("fifo")), claim.theirs, claim.limits["percent"], "s")


def _bulk_is_worse(evidence: Evidence) -> Finding:
    dash_mean, bulk_mean = (evidence.values(arm("fifo"), RTT_MEAN) for arm in (dash_only, bulk_only))
    return findings.less("RTT, DASH only", dash_mean, "bulk only", bulk_mean, "ms")


@check("load-kind")
def kind_of_load(evidence: Evidence, _: Claim) -> Finding:
    dash_loss, bulk_loss = (loss_percent(evidence, arm("fifo")) for arm in (dash_only, bulk_only))
    return findings.all_of(
        _bulk_is_worse(evidence),
        findings.less("loss, DASH only", dash_loss, "bulk only", bulk_loss, "%"),
        why="the loss beside the upload was a reason for our receive window (bulk.loss); the delay was not",
    )


@check("bulk.gt-dash")
def bulk_above_dash(evidence: Evidence, claim: Claim) -> Finding:
    return findings.all_of(_bulk_is_worse(evidence), _like_mixed(evidence, "fifo", claim))


@check("bulk.aqm-same")
def bulk_like_mixed(evidence: Evidence, claim: Claim) -> Finding:
    return findings.all_of(*(_like_mixed(evidence, queue, claim) for queue in QUEUES[1:]))


def _like_mixed(evidence: Evidence, queue: str, claim: Claim) -> Finding:
    bulk, mix = (added(evidence, arm, RTT_MEAN) for arm in (bulk_only(queue), paper(queue)))
    unit = f"% of what the mix adds behind {queue}"
    finding = findings.near(100 * bulk / mix, 100, claim.limits["percent"], unit)
    if finding.outcome == "reproduced":
        return finding
    listed = (
        f"{name} {_what_waits(evidence, arm)}" for name, arm in (("alone", bulk_only(queue)), ("mix", paper(queue)))
    )
    return Finding(finding.outcome, finding.ours, f"behind {queue}: {'; '.join(listed)}")


def _what_waits(evidence: Evidence, arm: Arm) -> str:
    delays = (evidence.values(arm, f"flows.{GAME}.{way}.queue_delay_ms.mean") for way in ("up", "down"))
    share = 100 * float(np.mean(evidence.derived(arm, "upload-share", _upload_share_of_uplink)))
    return f"{' up, '.join(map(findings.number, delays))} ms down, {share:.0f} % of the uplink's packets are upload"


def _upload_share_of_uplink(run: _native.Run) -> float:
    windows = columns(run, "windows")
    up = (windows["direction"] == "up") & (windows["t_s"] >= LOADED_S)
    return float(windows["received"][up & (windows["flow"] == UPLOAD)].sum() / windows["received"][up].sum())


@check("bulk.thr")
def bulk_fluctuates(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "cv DASH", fluctuation(evidence, dash_only("fifo")), "bulk", fluctuation(evidence, bulk_only("fifo")), ""
    )


@check("bulk.loss")
def bulk_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.above(
        lost(evidence, bulk_only("fifo")),
        0,
        "packets of the game",
        "this was a reason against a receive window of 64 KiB, with which no packet is lost here:"
        f" {findings.zero(lost(evidence, small_window(bulk_only('fifo'))), 'packets').ours}",
    )


@check("dash.loss0")
def dash_no_loss(evidence: Evidence, _: Claim) -> Finding:
    small = findings.zero(lost(evidence, small_window(dash_only("fifo"))), "packets")
    return findings.zero(lost(evidence, dash_only("fifo")), "packets", f"with a 64 KiB window: {small.ours}")


@check("pie.dash.rtt")
def pie_dash_rtt(evidence: Evidence, _: Claim) -> Finding:
    pie, fifo = dash_only("pie"), dash_only("fifo")
    peaks = {"FIFO 100": fifo, "FIFO 1000": fifo.with_({"gateway.*.limit": "1000p"}), "PIE 1000": pie}
    listed = (f"{name} {findings.number(evidence.values(arm, RTT_MAX))} ms" for name, arm in peaks.items())
    return findings.less(
        "pie",
        evidence.values(pie, RTT_MEAN),
        "fifo",
        evidence.values(fifo, RTT_MEAN),
        "ms on average",
        f"peaks are alike: {', '.join(listed)}",
    )


@check("pie.dash.loss")
def pie_dash_loss(evidence: Evidence, _: Claim) -> Finding:
    few = loss_percent(evidence, dash_only("pie"))
    return findings.all_of(
        findings.above(few, 0, "% with DASH only"),
        findings.less("DASH only", few, "mixed", loss_percent(evidence, paper("pie")), "%"),
    )


@check("codel.dash.rtt")
def codel_dash_rtt(evidence: Evidence, claim: Claim) -> Finding:
    arm = dash_only("codel")
    return near_above_base(
        evidence,
        claim,
        arm,
        RTT_MAX,
        f"the mean is {findings.number(evidence.values(arm, RTT_MEAN))} ms. The paper does not say"
        " which it means; it compares with peaks of flow queues",
    )


@check("codel.dash.loss0")
def codel_dash_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.zero(
        lost(evidence, dash_only("codel")), "packets", "a drop at the head of a shared queue can be any flow's packet"
    )


@check("fq.dash")
def fq_dash(evidence: Evidence, claim: Claim) -> Finding:
    fast = added(evidence, paper("fq_codel", FAST), RTT_MEAN)
    return findings.all_of(
        *(
            findings.below(
                added(evidence, dash_only(queue), RTT_MEAN), claim.limits["ms"], f"ms above the base behind {queue}"
            )
            for queue in FLOW_QUEUES
        ),
        why=f"at 50/20 with all traffic FQ-CoDel adds {findings.number(fast)} ms",
    )
