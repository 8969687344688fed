"""Sections III.B and III.C: the rate of the link, the bridge, and the modem behind the bridge."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    DOCSIS_1_0,
    FIFO_QUEUE,
    IN_THE_MODEM,
    PRIORITY,
    UNSHAPED,
    UPLOAD,
    check,
    game_delay,
    game_loss,
    throughput,
)
from gamelane.claims.evidence import Evidence, Numbers
from gamelane.claims.findings import Finding, given

MODEM = """
name = "modem"
duration = "30s"
[link]
kind = "docsis"
down = "2800kbit"
up = "192kbit"
rtt = "4ms"
[[flow]]
name = "trial"
app = "udp"
direction = "up"
rate = "64kbit"
size = "1470B"
"""
"""The modem alone, for the trials of the rate finder."""

NEIGHBOURS = {"link.docsis.modems": "20", "link.docsis.load": "95%"}


@check("upstream-rate")
def upstream_rate(evidence: Evidence, claim: Claim) -> Finding:
    document = evidence.document()
    rates = (document["gateway"]["shape"]["up"], document["link"]["up"])
    full, small = (_highest_without_queue(evidence.repeats, size, {}) for size in (1470, 72))
    packets = _highest_without_queue(evidence.repeats, 72, DOCSIS_1_0)
    return findings.all_of(
        given(all(rate == f"{claim.theirs}kbit" for rate in rates), f"bridge {rates[0]}, modem {rates[1]}"),
        findings.near(full, claim.theirs, claim.limits["percent"], "kbit/s found by trials"),
        why="counted over Ethernet. The trials find the rate that the modem was given, with iperf's packets of 1470 B"
        f" and, on this modem, also with 72 B ({findings.number(small)}). On a modem without concatenation packets of"
        f" 72 B queue above {findings.number(packets)} kbit/s, so a rate found with large packets says little about"
        " small ones",
    )


def _highest_without_queue(repeats: int, payload: int, modem: dict[str, str]) -> Numbers:
    alone = _native.Scenario.parse(MODEM, "modem.toml", list(modem.items()))
    found = [
        _native.find_rate(
            alone, "up", payload, seed, length_s=30, lowest_bps=64_000, highest_bps=1_000_000, resolution=10
        )
        for seed in range(1, repeats + 1)
    ]
    return np.array([(rate["free_bps"] or 0) / 1000 for rate in found])


@check("unshaped-bridge")
def unshaped_bridge(evidence: Evidence, claim: Claim) -> Finding:
    arms = UNSHAPED.with_(FIFO_QUEUE), UNSHAPED
    fifo, first = (game_delay(evidence, arm) for arm in arms)
    lost = [game_loss(evidence, arm) for arm in arms]
    return findings.near(
        100 * first / fifo,
        100,
        claim.limits["percent"],
        "% of the delay with FIFO",
        f"FIFO {findings.number(fifo)} ms, priority {findings.number(first)} ms; lost {findings.number(lost[0])} and"
        f" {findings.number(lost[1])} %. At 100 Mbit/s nothing waits in the bridge; the queue builds up in the modem",
    )


@check("shaping-risks")
def shaping_risks(evidence: Evidence, claim: Claim) -> Finding:
    slower, shared = PRIORITY.with_({"gateway.shape.up": "160kbit"}), PRIORITY.with_(NEIGHBOURS)
    evidence.prepare([slower, shared])
    behind = [evidence.values(arm, "queues.modem.backlog_packets.mean") for arm in (PRIORITY, shared)]
    return findings.all_of(
        findings.above(
            throughput(evidence, PRIORITY, UPLOAD) - throughput(evidence, slower, UPLOAD),
            claim.limits["kbps"],
            "kbit/s of the upload unused by a bridge at 160 kbit/s",
        ),
        findings.less(
            "packets waiting in the modem on an empty channel",
            behind[0],
            "on one that 20 others fill to 95 %",
            behind[1],
            "",
        ),
    )


@check("inmodem")
def in_modem(evidence: Evidence, _: Claim) -> Finding:
    busy = [arm.with_(NEIGHBOURS) for arm in (IN_THE_MODEM, PRIORITY)]
    evidence.prepare(busy)
    return findings.all_of(
        findings.less(
            "in the modem", game_delay(evidence, IN_THE_MODEM), "at the bridge", game_delay(evidence, PRIORITY), "ms"
        ),
        findings.less(
            "beside busy neighbours in the modem",
            game_delay(evidence, busy[0]),
            "at the bridge",
            game_delay(evidence, busy[1]),
            "ms",
        ),
        why="priority in the modem needs no shaper and no rate",
    )
