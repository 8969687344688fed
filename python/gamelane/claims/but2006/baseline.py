"""Section IV.A: TCP alone, and the effect of an upload on a download through its ACKs."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    DOWNLOAD,
    DOWNLOAD_ALONE,
    FIFO,
    PRIORITY,
    TWO_TRANSFERS,
    UPLOAD,
    WITHOUT_UPLOAD,
    ack_delay,
    check,
    game_delay,
    round_trip,
    throughput,
)
from gamelane.claims.but2006.passive import SECONDS, passive_round_trip
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding

WINDOWS = ("8KiB", "16KiB", "32KiB", "64KiB")
FOUR_TIMES = {"link.up": "768kbit", "gateway.shape.up": "768kbit", "link.down": "11200kbit"}


def own_window(window: str, arm: Arm = TWO_TRANSFERS) -> Arm:
    """Return the arm with a different window of the upload."""
    return arm.with_({f"flow.{UPLOAD}.tcp.receive_window": window})


@check("base.down-alone")
def down_alone(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(
        throughput(evidence, DOWNLOAD_ALONE, DOWNLOAD),
        claim.theirs,
        claim.limits["percent"],
        "kbit/s",
        "`link.down` was set for it",
    )


@check("base.down-with-up")
def down_with_up(evidence: Evidence, claim: Claim) -> Finding:
    others = [own_window(window) for window in WINDOWS]
    evidence.prepare(others)
    means = [throughput(evidence, arm, DOWNLOAD).mean() for arm in others]
    return findings.near(
        throughput(evidence, TWO_TRANSFERS, DOWNLOAD),
        claim.theirs,
        claim.limits["percent"],
        "kbit/s",
        "the download's rate is its window over the delay of its ACKs behind the upload's window, which the paper does"
        f" not give. With an upload window of {', '.join(WINDOWS)}: {', '.join(f'{mean:.0f}' for mean in means)}"
        " kbit/s. 590 kbit/s are 34 kB in 460 ms, so seven full packets of the upload waited, not 22",
    )


@check("base.quarter")
def a_quarter(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(
        100 * throughput(evidence, TWO_TRANSFERS, DOWNLOAD) / throughput(evidence, DOWNLOAD_ALONE, DOWNLOAD),
        claim.theirs,
        claim.limits["percent"],
        "%",
        "their own figures give 590/2700 = 22 %. Ours is lower for the reason of base.down-with-up",
    )


@check("base.ackdelay")
def ack_wait(evidence: Evidence, _: Claim) -> Finding:
    def against(what: str, path: str, unit: str) -> Finding:
        alone, beside = (evidence.values(arm, f"flows.{DOWNLOAD}.{path}") for arm in (DOWNLOAD_ALONE, TWO_TRANSFERS))
        return findings.less(f"{what} alone", alone, "beside the upload", beside, unit)

    return findings.all_of(
        against("wait of the ACKs", "up.queue_delay_ms.mean", "ms"),
        against("round trip", "rtt_ms.mean", "ms"),
        against("segments sent again", "retransmissions", ""),
        why="the ACKs cause the fall of the throughput, as they say, but nothing is sent again: a window of 32 KiB does"
        ' not overflow the queue downstream. With `timer = "linux-6"`, whose timeout is shorter, three segments are',
    )


@check("base.trace-evidence")
def trace_evidence(evidence: Evidence, claim: Claim) -> Finding:
    seen = passive_round_trip(evidence, TWO_TRANSFERS, DOWNLOAD)
    true = round_trip(evidence, TWO_TRANSFERS.with_(SECONDS), DOWNLOAD)
    return findings.near(
        100 * seen / true,
        100,
        claim.limits["percent"],
        "% of the round trip at the hosts",
        f"{findings.number(seen)} ms in a capture beyond the modem, {findings.number(true)} ms at the hosts",
    )


@check("base.up-unhurt")
def upload_unhurt(evidence: Evidence, _: Claim) -> Finding:
    up, down = (passive_round_trip(evidence, TWO_TRANSFERS, flow) for flow in (UPLOAD, DOWNLOAD))
    waits = [ack_delay(evidence, TWO_TRANSFERS, flow) for flow in (UPLOAD, DOWNLOAD)]
    return findings.all_of(
        findings.less("ACKs of the upload wait", waits[0], "of the download", waits[1], "ms"),
        findings.less("round trip of the upload", up, "of the download", down, "ms"),
        why="round trips measured beyond the modem, behind the bridge's queue",
    )


@check("base.more-bw")
def more_bandwidth(evidence: Evidence, _: Claim) -> Finding:
    both, alone = (arm.with_(FOUR_TIMES) for arm in (TWO_TRANSFERS, DOWNLOAD_ALONE))
    return findings.less(
        "download beside an upload",
        throughput(evidence, both, DOWNLOAD),
        "alone",
        throughput(evidence, alone, DOWNLOAD),
        "kbit/s",
    )


@check("down-lesser")
def downstream_lesser(evidence: Evidence, _: Claim) -> Finding:
    return findings.less(
        "queueing delay of the game down",
        evidence.values(FIFO, "flows.game.down.queue_delay_ms.mean"),
        "up",
        game_delay(evidence, FIFO),
        "ms",
    )


@check("game.minus10")
def adding_the_game(evidence: Evidence, claim: Claim) -> Finding:
    without, with_game = (throughput(evidence, arm, DOWNLOAD) for arm in (TWO_TRANSFERS, FIFO))
    in_bytes = [arm.with_({"gateway.up.limit": "64KiB"}) for arm in (TWO_TRANSFERS, FIFO)]
    change = throughput(evidence, in_bytes[0], DOWNLOAD) - throughput(evidence, in_bytes[1], DOWNLOAD)
    return findings.near(
        without - with_game,
        claim.theirs,
        claim.limits["percent"],
        "kbit/s",
        "the download gains: the game takes some of the 50 slots, so fewer full packets wait in front of the ACKs. With"
        f" 64 KiB in the bridge instead of 50 slots it loses {findings.number(change)} kbit/s",
    )


@check("noup")
def no_upload(evidence: Evidence, claim: Claim) -> Finding:
    quiet = Arm.of(WITHOUT_UPLOAD)
    waits, trips, rates = (
        [measure(evidence, arm, DOWNLOAD) for arm in (quiet, PRIORITY)]
        for measure in (ack_delay, round_trip, throughput)
    )
    return findings.all_of(
        findings.below(100 * waits[0] / waits[1], claim.limits["percent"], "% of the ACKs' wait beside the upload"),
        findings.less("round trip without the upload", trips[0], "with it", trips[1], "ms"),
        findings.above(rates[0] / rates[1], claim.limits["factor"], "times the throughput"),
    )
