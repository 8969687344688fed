"""All traffic behind one shared queue: FIFO, PIE, CoDel (Figs. 6 to 15)."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    DASH,
    GAME,
    LOADED_S,
    RTT_MAX,
    RTT_MEAN,
    THROUGHPUT_DOWN,
    THROUGHPUT_UP,
    UPLOAD,
    WEB,
    alone_at_40ms,
    base_ms,
    bulk_only,
    check,
    dash_only,
    downstream_period,
    fluctuation,
    loss_percent,
    mixed,
    near_above_base,
    own_client,
    paper,
    rtt_period,
    small_window,
    without,
    without_sack,
)
from gamelane.claims.collom2016.uplink import lost_in_a_row
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.register import Check


@check("fifo.mixed-jump")
def fifo_jump(evidence: Evidence, _: Claim) -> Finding:
    base, mean = evidence.values(alone_at_40ms(), RTT_MEAN), "flows.{}.rtt_ms.mean"
    return findings.all_of(
        *(
            findings.less(
                "game alone", base, f"{flow} in the mix", evidence.values(paper("fifo"), mean.format(flow)), "ms"
            )
            for flow in (GAME, UPLOAD, WEB, DASH)
        )
    )


@check("fifo.peak")
def fifo_peak(evidence: Evidence, claim: Claim) -> Finding:
    share = evidence.derived(paper("fifo"), "slots", _game_share_of_uplink)
    return near_above_base(
        evidence,
        claim,
        paper("fifo"),
        RTT_MAX,
        f"100 slots are not 100 full packets: {100 * float(np.mean(share)):.0f} % of the packets on the uplink are 88 B"
        " game packets",
    )


def _game_share_of_uplink(run: _native.Run) -> float:
    windows = columns(run, "windows")
    up = (windows["direction"] == "up") & (windows["t_s"] >= LOADED_S)
    return float(windows["received"][up & (windows["flow"] == GAME)].sum() / windows["received"][up].sum())


@check("fifo.cause")
def fifo_cause(evidence: Evidence, _: Claim) -> Finding:
    base = evidence.values(alone_at_40ms(), RTT_MEAN)
    down = evidence.values(without(paper("fifo"), UPLOAD), RTT_MEAN) - base
    return findings.less(
        "DASH and web add", down, "the upload adds", evidence.values(bulk_only("fifo"), RTT_MEAN) - base, "ms"
    )


@check("fifo.period")
def fifo_period(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(
        downstream_period(evidence, paper("fifo")),
        claim.theirs,
        claim.limits["percent"],
        "s between peaks of the delay downstream, where both are",
        f"round trips, which the upload governs, peak every {findings.number(rtt_period(evidence, paper('fifo')))} s",
    )


@check("fifo.thr-fluct")
def fifo_fluctuation(evidence: Evidence, claim: Claim) -> Finding:
    return findings.all_of(
        findings.less(
            "cv alone", fluctuation(evidence, alone_at_40ms()), "mixed", fluctuation(evidence, paper("fifo")), ""
        ),
        *(
            findings.near(ratio, 100, claim.limits["percent"], f"% of the throughput alone, {name}")
            for name, ratio, _ in _throughput(evidence, paper("fifo"))
        ),
    )


def _throughput(evidence: Evidence, arm: Arm) -> list[tuple[str, Numbers, Numbers]]:
    """Return for each direction the game's throughput in per cent of that alone, and its packets that arrived."""
    return [
        (
            name,
            100 * evidence.values(arm, path) / evidence.values(alone_at_40ms(), path),
            100 * (1 - evidence.values(arm, f"flows.{GAME}.{name}.loss")),
        )
        for name, path in (("up", THROUGHPUT_UP), ("down", THROUGHPUT_DOWN))
    ]


@check("fifo.loss")
def fifo_loss(evidence: Evidence, claim: Claim) -> Finding:
    lost, again, seconds = np.array(evidence.derived(paper("fifo"), "bursts", lost_in_a_row)).T
    return findings.all_of(
        findings.less("lost", lost, "lost of those after a lost one", again, "%"),
        findings.below(seconds, claim.limits["percent"], "% of the seconds have a loss"),
    )


@check("pie.peak")
def pie_peak(evidence: Evidence, claim: Claim) -> Finding:
    return peak(evidence, claim, "pie")


@check("codel.peak")
def codel_peak(evidence: Evidence, claim: Claim) -> Finding:
    return peak(evidence, claim, "codel")


def peak(evidence: Evidence, claim: Claim, queue: str) -> Finding:
    """Judge a peak. If it is not reproduced, show it with single changes."""
    finding = near_above_base(evidence, claim, paper(queue), RTT_MAX)
    if finding.outcome == "reproduced":
        return finding
    changes = {
        "upload only": bulk_only(queue),
        "DASH only": dash_only(queue),
        "no upload": without(paper(queue), UPLOAD),
        "64 KiB window": small_window(paper(queue)),
        "slow start of RFC 5681": paper(queue).with_({"tcp.slow_start": "rfc5681"}),
        "RFC parameters": paper(queue).with_({"gateway.*.parameters": "rfc"}),
        "Linux parameters": paper(queue).with_({"gateway.*.parameters": "linux"}),
        "game's own client stream": own_client(paper(queue)),
    }
    listed = (f"{name} {findings.number(evidence.values(arm, RTT_MAX))} ms" for name, arm in changes.items())
    return Finding(finding.outcome, finding.ours, f"{finding.why}. With one change: {', '.join(listed)}")


@check("pie.bulk")
def pie_majority(evidence: Evidence, claim: Claim) -> Finding:
    def measure(run: _native.Run) -> float:
        rows = columns(run, "rtt")
        return float(np.median(rows["rtt_ms"][(rows["flow"] == GAME) & (rows["t_s"] >= LOADED_S)]))

    median = np.array(evidence.derived(paper("pie"), "loaded-median", measure))
    part, base = claim.limits["percent"] / 100, base_ms(evidence, paper("pie"))
    lowest = base + (claim.theirs["lo"] - base) * (1 - part)
    highest = base + (claim.theirs["hi"] - base) * (1 + part)
    return findings.between(median, lowest, highest, "ms", f"the median from {LOADED_S} s on")


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
def pie_spikes(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(
        rtt_period(evidence, paper("pie")),
        claim.theirs,
        claim.limits["percent"],
        "s between spikes",
        f"downstream alone: {findings.number(downstream_period(evidence, paper('pie')))} s",
    )


def _more_loss(queue: str) -> Check:
    def judge_queue(evidence: Evidence, _: Claim) -> Finding:
        pairs = {
            "100 packets each": (mixed("fifo", 100), mixed(queue, 100)),
            "1000 packets each": (mixed("fifo", 1000), mixed(queue, 1000)),
            "upload and game only": (bulk_only("fifo"), bulk_only(queue)),
            "64 KiB window": (small_window(paper("fifo")), small_window(paper(queue))),
            "without SACK": (without_sack(paper("fifo")), without_sack(paper(queue))),
        }
        listed = (
            f"{name}: {findings.number(loss_percent(evidence, fifo))} and"
            f" {findings.number(loss_percent(evidence, other))} %"
            for name, (fifo, other) in pairs.items()
        )
        return findings.less(
            "fifo",
            loss_percent(evidence, paper("fifo")),
            queue,
            loss_percent(evidence, paper(queue)),
            "%",
            f"the paper compares FIFO with 100 packets to {queue} with 1000. {'; '.join(listed)}",
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
def codel_pie_throughput(evidence: Evidence, claim: Claim) -> Finding:
    return findings.all_of(
        *(
            findings.near(100 * ratio / arrived, 100, claim.limits["percent"], f"% with {queue}, {name}")
            for queue in ("codel", "pie")
            for name, ratio, arrived in _throughput(evidence, paper(queue))
        ),
        why="the game sends the same behind every queue, so its throughput says no more than its loss",
    )
