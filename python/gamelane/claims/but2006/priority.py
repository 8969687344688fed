"""Section IV.B: the game with and without priority, and the effect on both transfers."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    ACKS_FILTERED,
    ACKS_FIRST,
    DOWNLOAD,
    FIFO,
    MODEM_1_0,
    PRIORITY,
    UPLOAD,
    check,
    fall,
    game_delay,
    round_trip,
    throughput,
)
from gamelane.claims.but2006.passive import passive_round_trip
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell, given

QUANTILES = ("p5", "p25", "p50", "p75", "p95", "p99", "max")

WAITING = (
    "the cause is the delay of the ACKs, and so the upload's window in the queue (base.down-with-up). A round trip is"
    " sampled once per ACK, more often while the queue is short. So theirs is a harmonic mean, and lower than the"
    " game's wait in the same queue"
)


@check("pq.down-thr")
def download(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        findings.near(throughput(evidence, FIFO, DOWNLOAD), 580, 30, "kbit/s with FIFO"),
        findings.near(throughput(evidence, PRIORITY, DOWNLOAD), 380, 30, "with priority"),
        why=WAITING,
    )


@check("pq.down-drop")
def download_drop(evidence: Evidence, _: Claim) -> Finding:
    drop = fall(throughput(evidence, FIFO, DOWNLOAD), throughput(evidence, PRIORITY, DOWNLOAD))
    return findings.near(
        drop,
        35,
        30,
        "%",
        "in a queue of its own with 50 slots the upload no longer loses packets to the game, so its whole window is in"
        " front of the ACKs",
    )


@check("pq.down-rtt")
def download_round_trip(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        findings.near(round_trip(evidence, FIFO, DOWNLOAD), 464, 30, "ms with FIFO"),
        findings.near(round_trip(evidence, PRIORITY, DOWNLOAD), 724, 30, "with priority"),
        why=WAITING,
    )


@check("pq.down-rtt.sign")
def download_pays(evidence: Evidence, _: Claim) -> Finding:
    return findings.all_of(
        findings.less(
            "FIFO", round_trip(evidence, FIFO, DOWNLOAD), "priority", round_trip(evidence, PRIORITY, DOWNLOAD), "ms"
        ),
        findings.less(
            "priority", throughput(evidence, PRIORITY, DOWNLOAD), "FIFO", throughput(evidence, FIFO, DOWNLOAD), "kbit/s"
        ),
    )


@check("pq.up-thr")
def upload(evidence: Evidence, _: Claim) -> Finding:
    fifo, first = (throughput(evidence, arm, UPLOAD) for arm in (FIFO, PRIORITY))
    return findings.all_of(
        findings.near(fifo, 170, 10, "kbit/s with FIFO"),
        findings.near(first, 150, 10, "with priority"),
        why="the upload has the rest of 192 kbit/s. Theirs falls by 12 % with priority, ours does not. Without priority"
        " the game takes its rate minus its loss, which is 28 % there and a few per cent here",
    )


@check("pq.up-rtt")
def upload_round_trip(evidence: Evidence, _: Claim) -> Finding:
    both = np.concatenate([passive_round_trip(evidence, arm, UPLOAD) for arm in (FIFO, PRIORITY)])
    end = round_trip(evidence, FIFO, UPLOAD)
    return given(
        1 < float(both.mean()) < 100,
        f"{findings.number(both)} ms beyond the modem",
        "judged by order of magnitude. The capture is behind the queue and behind the 63 ms of a full packet at"
        f" 192 kbit/s; the sender itself measures {findings.number(end)} ms",
    )


@check("pq.up-rtt.const")
def upload_round_trip_constant(evidence: Evidence, _: Claim) -> Finding:
    fifo, first = (passive_round_trip(evidence, arm, UPLOAD, "p50") for arm in (FIFO, PRIORITY))
    means = [passive_round_trip(evidence, arm, UPLOAD) for arm in (FIFO, PRIORITY)]
    return given(
        abs(float((first - fifo).mean())) < 5,
        f"median with FIFO {findings.number(fifo)} ms, with priority {findings.number(first)} ms, beyond the modem",
        f"the means are {findings.number(means[0])} and {findings.number(means[1])} ms. With FIFO the upload loses"
        " packets, and the ACK that closes a hole is late for the data behind it",
    )


@check("pq.delay.fifo-median")
def fifo_median(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(game_delay(evidence, FIFO, "p50"), 1072, 30, "ms")


@check("pq.delay.fifo-mean")
def fifo_mean(evidence: Evidence, _: Claim) -> Finding:
    larger, modem = FIFO.with_({"gateway.up.limit": "64p"}), FIFO.with_(MODEM_1_0)
    return findings.near(
        game_delay(evidence, FIFO),
        1294,
        30,
        "ms",
        "the delay is the bytes in 50 slots. Their mean is above their median, so sometimes more bytes waited. With 64"
        " slots"
        f" {findings.number(game_delay(evidence, larger))} ms, with the modem of pq.loss"
        f" {findings.number(game_delay(evidence, modem))} ms: its three slots lose small packets and keep full ones",
    )


@check("pq.delay.prio-mean")
def priority_mean(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(game_delay(evidence, PRIORITY), 39, 30, "ms")


@check("pq.delay.prio-p75")
def priority_p75(evidence: Evidence, _: Claim) -> Finding:
    return given(
        float(game_delay(evidence, PRIORITY, "p75").mean()) < 29,
        f"{findings.number(game_delay(evidence, PRIORITY, 'p75'))} ms",
        "a link that is never idle always has a full packet in service, and its remaining time is uniform over 63 ms."
        " So three quarters wait up to 47 ms, plus the modem's time. With a mean of 39 ms a quarter of their packets"
        " must wait 69 ms and more. That needs idle times (a p75 below half a packet) and a modem that delays packets",
    )


@check("pq.delay.ratio")
def ratio(evidence: Evidence, _: Claim) -> Finding:
    found = game_delay(evidence, FIFO) / game_delay(evidence, PRIORITY)
    return given(bool(np.all(found > 10)), f"{findings.number(found)} times lower on average", "theirs is 33 times")


@check("fig5")
def figure_5(evidence: Evidence, _: Claim) -> Finding:
    pairs = {q: (game_delay(evidence, PRIORITY, q), game_delay(evidence, FIFO, q)) for q in QUANTILES}
    return given(
        all(bool(np.all(first < fifo)) for first, fifo in pairs.values()),
        "; ".join(f"{q} {first.mean():.0f} and {fifo.mean():.0f} ms" for q, (first, fifo) in pairs.items()),
        "in every seed; the curves are in docs/claims/but2006.md",
    )


@check("tolerable-drop")
def tolerable(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("an opinion about users; their own download falls by 34.5 %")


@check("minimal-impact")
def minimal(evidence: Evidence, _: Claim) -> Finding:
    drops = [
        fall(throughput(evidence, FIFO, flow), throughput(evidence, PRIORITY, flow)) for flow in (UPLOAD, DOWNLOAD)
    ]
    return given(
        all(float(drop.mean()) < 20 for drop in drops),
        f"the upload falls by {findings.number(drops[0])} %, the download by {findings.number(drops[1])} %",
        'they call the same drop "heavily compromised"; they call 20 % unnoticed',
    )


@check("ackprio")
def ack_priority(evidence: Evidence, _: Claim) -> Finding:
    before, after = (
        (round_trip(evidence, arm, DOWNLOAD), throughput(evidence, arm, DOWNLOAD), throughput(evidence, arm, UPLOAD))
        for arm in (PRIORITY, ACKS_FIRST)
    )
    cost = fall(before[2], after[2])
    return findings.all_of(
        findings.less("round trip of the download with ACKs first", after[0], "without", before[0], "ms"),
        findings.less("its throughput without", before[1], "with", after[1], "kbit/s"),
        given(
            0 < float(cost.mean()) <= 20,
            f"the upload loses {findings.number(cost)} %",
            "not slight: a full download has 230 packets a second and an ACK of 70 B on Ethernet for every second one,"
            " which is a third of 192 kbit/s. With an ACK filter as well, the upload loses"
            f" {findings.number(fall(before[2], throughput(evidence, ACKS_FILTERED, UPLOAD)))} % for the same download",
        ),
    )
