"""All traffic behind one shared queue: FIFO, PIE, CoDel (Figs. 6 to 15)."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    DASH,
    GAME,
    RTT_MAX,
    RTT_MEAN,
    UPLOAD,
    WEB,
    alone_at_40ms,
    bulk_only,
    check,
    dash_only,
    fifo_variants,
    fluctuation,
    loss_percent,
    mixed,
    paper,
    period,
    same_throughput,
    small_window,
    without,
    without_sack,
)
from gamelane.claims.evidence import Evidence, columns
from gamelane.claims.findings import Finding, cannot_tell
from gamelane.claims.register import Check


@check("fifo.mixed-jump")
def fifo_jump(evidence: Evidence, _: Claim) -> Finding:
    jam = paper("fifo")
    found = [
        findings.less(
            "game alone",
            evidence.values(alone_at_40ms(), RTT_MEAN),
            f"{flow} in the mix",
            evidence.values(jam, f"flows.{flow}.rtt_ms.mean"),
            "ms",
        )
        for flow in (GAME, UPLOAD, WEB, DASH)
    ]
    return findings.all_of(*found)


@check("fifo.peak")
def fifo_peak(evidence: Evidence, _: Claim) -> Finding:
    variants = {name: findings.number(evidence.values(arm, RTT_MAX)) for name, arm in fifo_variants().items()}
    listed = "; ".join(f"{name}: {peak} ms" for name, peak in variants.items())
    share = evidence.derived(paper("fifo"), "slots", _game_share_of_uplink)
    return findings.near(
        evidence.values(paper("fifo"), RTT_MAX),
        570,
        30,
        "ms",
        f"100 slots are not 100 full packets: {100 * float(np.mean(share)):.0f} % of the packets on the uplink are 88 B"
        f" game packets. With one setting changed: {listed}",
    )


def _game_share_of_uplink(run: _native.Run) -> float:
    windows = columns(run, "windows")
    up = windows["direction"] == "up"
    late = windows["t_s"] >= 20
    return float(
        windows["received"][up & late & (windows["flow"] == GAME)].sum() / windows["received"][up & late].sum()
    )


@check("fifo.gamestart")
def fifo_game_start(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("the paper does not say why its plots start near 8 s; our game runs from 0 s")


@check("fifo.cause")
def fifo_cause(evidence: Evidence, _: Claim) -> Finding:
    base = evidence.values(alone_at_40ms(), RTT_MEAN)
    down = evidence.values(without(paper("fifo"), UPLOAD), RTT_MEAN) - base
    return findings.less(
        "DASH and web add", down, "the upload adds", evidence.values(bulk_only("fifo"), RTT_MEAN) - base, "ms"
    )


@check("fifo.period")
def fifo_period(evidence: Evidence, _: Claim) -> Finding:
    periods = period(paper("fifo"), "period-down", "delay", "down")(evidence)
    return findings.near(periods, 10, 10, "s between peaks of downstream queue delay")


@check("fifo.thr-fluct")
def fifo_fluctuation(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        findings.less(
            "cv alone", fluctuation(evidence, alone_at_40ms()), "mixed", fluctuation(evidence, paper("fifo")), ""
        ),
        same_throughput(evidence, paper("fifo")),
    )


@check("fifo.loss")
def fifo_loss(evidence: Evidence, _: Claim) -> Finding:
    return findings.above(loss_percent(evidence, paper("fifo")), 0, "% of game packets")


@check("pie.peak")
def pie_peak(evidence: Evidence, _: Claim) -> Finding:
    return peak(evidence, "pie", 420)


@check("codel.peak")
def codel_peak(evidence: Evidence, _: Claim) -> Finding:
    return peak(evidence, "codel", 250)


def peak(evidence: Evidence, queue: str, theirs: float) -> Finding:
    finding = findings.near(evidence.values(paper(queue), RTT_MAX), theirs, 30, "ms")
    if finding.outcome == "reproduced":
        return finding
    return Finding(finding.outcome, finding.ours, _peak_cause(evidence, queue))


def _peak_cause(evidence: Evidence, queue: str) -> str:
    """List the peak with other traffic, windows and parameters, to show its cause."""
    parts = {
        "upload only": bulk_only(queue),
        "DASH only": dash_only(queue),
        "no upload": without(paper(queue), UPLOAD),
        "64 KiB window": paper(queue).with_({"tcp.receive_window": "64KiB"}),
        "RFC parameters": paper(queue).with_({"gateway.*.parameters": "rfc"}),
        "Linux parameters": paper(queue).with_({"gateway.*.parameters": "linux"}),
        "game's own client stream": paper(queue).with_({f"flow.{GAME}.client": "game"}),
    }
    return "; ".join(f"{name}: {findings.number(evidence.values(arm, RTT_MAX))} ms" for name, arm in parts.items())


@check("pie.bulk")
def pie_majority(evidence: Evidence, _: Claim) -> Finding:
    def measure(run: _native.Run) -> float:
        rows = columns(run, "rtt")
        own = rows["rtt_ms"][(rows["flow"] == GAME) & (rows["t_s"] >= 12)]
        return float(np.median(own))

    median = np.array(evidence.derived(paper("pie"), "loaded-median", measure))
    return findings.between(median, 50 * 0.7, 60 * 1.3, "ms (median from 12 s on)")


def _below_fifo(queue: str) -> Check:
    def judge_queue(evidence: Evidence, _: Claim) -> Finding:
        return findings.all_of(
            *(
                findings.less(
                    f"{queue} {name}",
                    evidence.values(paper(queue), path),
                    "fifo",
                    evidence.values(paper("fifo"), path),
                    "ms",
                )
                for name, path in (("peak", RTT_MAX), ("mean", RTT_MEAN))
            )
        )

    return judge_queue


check("pie.lt-fifo")(_below_fifo("pie"))


check("codel.lt-fifo")(_below_fifo("codel"))


@check("codel.lt-pie")
def codel_below_pie(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "codel", evidence.values(paper("codel"), RTT_MAX), "pie", evidence.values(paper("pie"), RTT_MAX), "ms"
    )


@check("pie.spikes")
def pie_spikes(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(
        period(paper("pie"), "period-rtt", "rtt", None)(evidence),
        10,
        10,
        "s between spikes",
        "only downstream spikes: "
        + findings.number(period(paper("pie"), "period-down", "delay", "down")(evidence))
        + " s",
    )


def _more_loss(queue: str) -> Check:
    def judge_queue(evidence: Evidence, _: Claim) -> Finding:
        same_buffer = ", ".join(
            f"{packets} packets: fifo {findings.number(loss_percent(evidence, mixed('fifo', packets)))},"
            f" {queue} {findings.number(loss_percent(evidence, mixed(queue, packets)))} %"
            for packets in (100, 1000)
        )
        elsewhere = ", ".join(
            f"{name}: fifo {findings.number(loss_percent(evidence, fifo))},"
            f" {queue} {findings.number(loss_percent(evidence, other))} %"
            for name, fifo, other in (
                ("upload and game only", bulk_only("fifo"), bulk_only(queue)),
                ("64 KiB window", small_window(paper("fifo")), small_window(paper(queue))),
                ("without SACK", without_sack(paper("fifo")), without_sack(paper(queue))),
            )
        )
        return findings.less(
            "fifo",
            loss_percent(evidence, paper("fifo")),
            queue,
            loss_percent(evidence, paper(queue)),
            "%",
            f"the paper compares FIFO with 100 packets to {queue} with 1000. At equal limits: {same_buffer}."
            f" With other values for what the paper leaves open: {elsewhere}",
        )

    return judge_queue


check("pie.loss-gt-fifo")(_more_loss("pie"))


check("codel.loss-gt-fifo")(_more_loss("codel"))


def _smoother(queue: str) -> Check:
    def judge_queue(evidence: Evidence, _: Claim) -> Finding:
        return findings.less(
            f"cv {queue}", fluctuation(evidence, paper(queue)), "fifo", fluctuation(evidence, paper("fifo")), ""
        )

    return judge_queue


check("pie.thr-smooth")(_smoother("pie"))


check("codel.thr-smooth")(_smoother("codel"))


@check("codel-pie.thr-same")
def codel_pie_throughput(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(*(same_throughput(evidence, paper(queue)) for queue in ("codel", "pie")))
