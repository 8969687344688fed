"""Section IV.A: TCP alone, and the effect of an upload on a download through its ACKs."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    DOWNLOAD,
    DOWNLOAD_ALONE,
    FIFO,
    TWO_TRANSFERS,
    UPLOAD,
    WITHOUT_UPLOAD,
    check,
    round_trip,
    throughput,
)
from gamelane.claims.but2006.passive import passive_round_trip
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, given

WINDOWS = ("8KiB", "16KiB", "32KiB", "64KiB")
FOUR_TIMES = {"link.up": "768kbit", "gateway.shape.up": "768kbit", "link.down": "11200kbit"}


def own_window(window: str, arm: Arm = TWO_TRANSFERS) -> Arm:
    """Return the arm with a different window of the upload."""
    return arm.with_({f"flow.{UPLOAD}.tcp.receive_window": window})


@check("base.down-alone")
def down_alone(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(
        throughput(evidence, DOWNLOAD_ALONE, DOWNLOAD), 2700, 30, "kbit/s", "an input: link.down was set for it"
    )


@check("base.down-with-up")
def down_with_up(evidence: Evidence, _: Claim) -> Finding:
    others = [own_window(window) for window in WINDOWS]
    evidence.prepare(others)
    means = [throughput(evidence, arm, DOWNLOAD).mean() for arm in others]
    return findings.near(
        throughput(evidence, TWO_TRANSFERS, DOWNLOAD),
        590,
        30,
        "kbit/s",
        "the download's rate is its window over the delay of its ACKs behind the upload's window, which the paper does"
        f" not give. With an upload window of {', '.join(WINDOWS)}: {', '.join(f'{mean:.0f}' for mean in means)}"
        " kbit/s. 590 kbit/s are 34 kB in 460 ms, so seven full packets of the upload waited, not 22",
    )


@check("base.quarter")
def a_quarter(evidence: Evidence, _: Claim) -> Finding:
    share = 100 * throughput(evidence, TWO_TRANSFERS, DOWNLOAD) / throughput(evidence, DOWNLOAD_ALONE, DOWNLOAD)
    return given(
        2.5 <= float(share.mean()) < 100,
        f"{findings.number(share)} %",
        "order of magnitude only. Their 25 % is 590/2700 = 22 %; ours is lower for the reason of base.down-with-up",
    )


@check("base.ackdelay")
def ack_delay(evidence: Evidence, _: Claim) -> Finding:
    slow, fast = (round_trip(evidence, arm, DOWNLOAD) for arm in (TWO_TRANSFERS, DOWNLOAD_ALONE))
    again = [evidence.values(arm, f"flows.{DOWNLOAD}.retransmissions") for arm in (DOWNLOAD_ALONE, TWO_TRANSFERS)]
    return findings.all_of(
        findings.less("round trip of the download alone", fast, "beside the upload", slow, "ms"),
        given(
            float(again[1].mean()) > float(again[0].mean()),
            f"{again[0].mean():.1f} and {again[1].mean():.1f} retransmissions",
            "the cause is the delay of the ACKs, as they say. Retransmissions hardly matter: a window of 32 KiB does"
            " not overflow the queue downstream",
        ),
    )


@check("base.trace-evidence")
def trace_evidence(evidence: Evidence, _: Claim) -> Finding:
    seen = passive_round_trip(evidence, TWO_TRANSFERS, DOWNLOAD)
    true = round_trip(evidence, TWO_TRANSFERS.with_({"duration": "120s"}), DOWNLOAD)
    return given(
        abs(float((seen / true).mean()) - 1) < 0.1,
        f"{findings.number(seen)} ms by matching ACKs in a capture beyond the modem, {findings.number(true)} ms at"
        " the hosts",
    )


@check("base.up-unhurt")
def upload_unhurt(evidence: Evidence, _: Claim) -> Finding:
    up, down = (passive_round_trip(evidence, TWO_TRANSFERS, flow) for flow in (UPLOAD, DOWNLOAD))
    return findings.less("upload", up, "download", down, "ms", "measured beyond the modem, behind the bridge's queue")


@check("base.more-bw")
def more_bandwidth(evidence: Evidence, _: Claim) -> Finding:
    both, alone = (arm.with_(FOUR_TIMES) for arm in (TWO_TRANSFERS, DOWNLOAD_ALONE))
    return findings.less(
        "download beside an upload",
        throughput(evidence, both, DOWNLOAD),
        "alone",
        throughput(evidence, alone, DOWNLOAD),
        "kbit/s",
        "at four times the rates",
    )


@check("down-lesser")
def downstream_lesser(evidence: Evidence, _: Claim) -> Finding:
    up, down = (evidence.values(FIFO, f"flows.game.{way}.queue_delay_ms.mean") for way in ("up", "down"))
    return findings.less("queueing delay of the game down", down, "up", up, "ms")


@check("game.minus10")
def adding_the_game(evidence: Evidence, _: Claim) -> Finding:
    without, with_game = (throughput(evidence, arm, DOWNLOAD) for arm in (TWO_TRANSFERS, FIFO))
    lost = without - with_game
    in_bytes = [arm.with_({"gateway.up.limit": "64KiB"}) for arm in (TWO_TRANSFERS, FIFO)]
    change = throughput(evidence, in_bytes[0], DOWNLOAD) - throughput(evidence, in_bytes[1], DOWNLOAD)
    return given(
        7 <= float(lost.mean()) <= 13,
        f"{findings.number(lost)} kbit/s",
        "the download gains: the game takes some of the 50 slots, so fewer full packets wait in front of the ACKs. With"
        f" 64 KiB in the bridge instead of 50 slots it loses {findings.number(change)} kbit/s",
    )


@check("noup")
def no_upload(evidence: Evidence, _: Claim) -> Finding:
    quiet = Arm.of(WITHOUT_UPLOAD)
    busy = Arm.of({})
    return findings.all_of(
        findings.less(
            "without the upload",
            round_trip(evidence, quiet, DOWNLOAD),
            "with",
            round_trip(evidence, busy, DOWNLOAD),
            "ms",
        ),
        given(
            float((throughput(evidence, quiet, DOWNLOAD) / throughput(evidence, busy, DOWNLOAD)).mean()) > 2,
            f"{findings.number(throughput(evidence, quiet, DOWNLOAD))} and"
            f" {findings.number(throughput(evidence, busy, DOWNLOAD))} kbit/s",
        ),
    )
