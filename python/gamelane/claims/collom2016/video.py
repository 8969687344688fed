"""Upload against video (Figs. 22 to 25)."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    FAST,
    QUEUES,
    RTT_MAX,
    RTT_MEAN,
    UPLOAD,
    bulk_only,
    check,
    dash_only,
    fluctuation,
    loss_percent,
    lost,
    mixed,
    paper,
    period,
)
from gamelane.claims.evidence import Evidence, columns
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
def dash_shape(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(period(dash_only("fifo"), "period-rtt", "rtt", None)(evidence), 10, 10, "s")


@check("load-kind")
def kind_of_load(evidence: Evidence, _: Claim) -> Finding:
    dash_mean, bulk_mean = (evidence.values(arm("fifo"), RTT_MEAN) for arm in (dash_only, bulk_only))
    return findings.all_of(
        findings.less("RTT, DASH only", dash_mean, "bulk only", bulk_mean, "ms"),
        findings.less(
            "loss, DASH only",
            loss_percent(evidence, dash_only("fifo")),
            "bulk only",
            loss_percent(evidence, bulk_only("fifo")),
            "%",
        ),
    )


@check("bulk.gt-dash")
def bulk_above_dash(evidence: Evidence, _: Claim) -> Finding:
    dash_mean, bulk_mean = (evidence.values(arm("fifo"), RTT_MEAN) for arm in (dash_only, bulk_only))
    return findings.all_of(
        findings.less("DASH only", dash_mean, "bulk only", bulk_mean, "ms"), _like_mixed(evidence, "fifo")
    )


def _like_mixed(evidence: Evidence, queue: str) -> Finding:
    ratio = evidence.values(bulk_only(queue), RTT_MEAN) / evidence.values(paper(queue), RTT_MEAN)
    finding = findings.near(ratio, 1, 30, f"of the mixed mean behind {queue}")
    if finding.outcome == "reproduced":
        return finding
    full = [
        100 * float(np.mean(evidence.derived(arm, "upload-share", upload_share_of_uplink)))
        for arm in (bulk_only(queue), paper(queue))
    ]
    return Finding(
        finding.outcome,
        finding.ours,
        f"{full[0]:.0f} % of the packets on the uplink are upload with only the game beside it, {full[1]:.0f} % in the"
        " mix. There the ACKs of the downloads take slots too, so the same number of slots holds less delay",
    )


def upload_share_of_uplink(run: _native.Run) -> float:
    windows = columns(run, "windows")
    up = (windows["direction"] == "up") & (windows["t_s"] >= 20)
    return float(windows["received"][up & (windows["flow"] == UPLOAD)].sum() / windows["received"][up].sum())


@check("bulk.thr")
def bulk_fluctuates(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "cv DASH", fluctuation(evidence, dash_only("fifo")), "bulk", fluctuation(evidence, bulk_only("fifo")), ""
    )


@check("bulk.loss")
def bulk_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.above(loss_percent(evidence, bulk_only("fifo")), 0, "% of game packets")


@check("dash.loss0")
def dash_no_loss(evidence: Evidence, _: Claim) -> Finding:
    small = dash_only("fifo").with_({"tcp.receive_window": "64KiB"})
    return findings.zero(
        lost(evidence, dash_only("fifo")),
        "packets",
        "a 5 Mbit/s chunk fills 100 packets if the window allows it. With a 64 KiB window:"
        f" {findings.zero(lost(evidence, small), 'packets').ours}",
    )


@check("pie.dash.rtt")
def pie_dash_rtt(evidence: Evidence, _: Claim) -> Finding:
    peaks = {
        name: findings.number(evidence.values(arm, RTT_MAX))
        for name, arm in (
            ("FIFO 100", dash_only("fifo")),
            ("FIFO 1000", dash_only("fifo").with_({"gateway.*.limit": "1000p"})),
            ("PIE 1000", dash_only("pie")),
        )
    }
    return findings.less(
        "pie",
        evidence.values(dash_only("pie"), RTT_MEAN),
        "fifo",
        evidence.values(dash_only("fifo"), RTT_MEAN),
        "ms",
        "if the window lets a burst fill the queue, FIFO's 100 slots hold 100 ms at 12 Mbit/s, and PIE lets the first"
        " 150 ms in. Peaks: " + ", ".join(f"{name} {peak} ms" for name, peak in peaks.items()),
    )


@check("pie.dash.loss")
def pie_dash_loss(evidence: Evidence, _: Claim) -> Finding:
    few = loss_percent(evidence, dash_only("pie"))
    return findings.all_of(
        findings.above(few, 0, "% with DASH only"),
        findings.less("DASH only", few, "mixed", loss_percent(evidence, paper("pie")), "%"),
    )


@check("codel.dash.rtt")
def codel_dash_rtt(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(
        evidence.values(dash_only("codel"), RTT_MAX),
        80,
        30,
        "ms at most",
        f"mean {findings.number(evidence.values(dash_only('codel'), RTT_MEAN))} ms; the paper does not say"
        " whether it means the peak or the mean",
    )


@check("codel.dash.loss0")
def codel_dash_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.zero(
        lost(evidence, dash_only("codel")), "packets", "a head drop in a shared queue can hit any flow"
    )


@check("fq.dash")
def fq_dash(evidence: Evidence, _: Claim) -> Finding:
    fast = evidence.values(mixed("fq_codel", 1000, FAST), RTT_MEAN) - 40
    return findings.all_of(
        *(
            findings.between(evidence.values(dash_only(queue), RTT_MEAN) - 40, 0, 5, f"ms added by {queue}")
            for queue in ("fq_codel", "fq_pie")
        ),
        why=f"at 50/20 with all traffic FQ-CoDel adds {findings.number(fast)} ms",
    )


@check("bulk.aqm-same")
def bulk_like_mixed(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(*(_like_mixed(evidence, queue) for queue in QUEUES))
