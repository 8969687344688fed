"""Sections III.B and III.C: the rate of the link, the bridge, and the modem behind the bridge."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    FIFO_QUEUE,
    IN_THE_MODEM,
    MODEM_1_0,
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


@check("upstream-rate")
def upstream_rate(evidence: Evidence, _: Claim) -> Finding:
    full, small = (_highest_without_queue(evidence.repeats, size, {}) for size in (1470, 72))
    packets = _highest_without_queue(evidence.repeats, 72, MODEM_1_0)
    return findings.near(
        full,
        192,
        3,
        "kbit/s over Ethernet",
        "trials of rising rate find the modem's configured rate, with iperf's packets of 1470 B and, on this modem,"
        f" also of 72 B ({findings.number(small)}). On a modem without concatenation packets of 72 B queue above"
        f" {findings.number(packets)} kbit/s, so a rate found with large packets says little about small ones",
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
def unshaped_bridge(evidence: Evidence, _: Claim) -> Finding:
    fifo, first = (game_delay(evidence, arm) for arm in (UNSHAPED.with_(FIFO_QUEUE), UNSHAPED))
    lost = [game_loss(evidence, arm) for arm in (UNSHAPED.with_(FIFO_QUEUE), UNSHAPED)]
    return given(
        abs(float((first / fifo).mean()) - 1) < 0.05,
        f"FIFO {findings.number(fifo)} ms, priority {findings.number(first)} ms; lost {findings.number(lost[0])} and"
        f" {findings.number(lost[1])} %",
        "at 100 Mbit/s nothing waits in the bridge; the queue builds up in the modem",
    )


@check("shaping-risks")
def shaping_risks(evidence: Evidence, _: Claim) -> Finding:
    slower = PRIORITY.with_({"gateway.shape.up": "160kbit"})
    shared = PRIORITY.with_({"link.docsis.modems": "20", "link.docsis.load": "95%"})
    evidence.prepare([slower, shared])
    wasted = throughput(evidence, PRIORITY, UPLOAD) - throughput(evidence, slower, UPLOAD)
    behind = [evidence.values(arm, "queues.modem.backlog_packets.mean") for arm in (PRIORITY, shared)]
    return findings.all_of(
        given(
            float(wasted.mean()) > 10,
            f"a bridge at 160 kbit/s leaves {findings.number(wasted)} kbit/s of the upload unused",
        ),
        findings.less(
            "packets waiting in the modem on an empty channel",
            behind[0],
            "on one that 20 others fill to 95 %",
            behind[1],
            "",
        ),
    )


@check("inmodem", "f.inmodem")
def in_modem(evidence: Evidence, _: Claim) -> Finding:
    bridge, modem = (game_delay(evidence, arm) for arm in (PRIORITY, IN_THE_MODEM))
    old = [arm.with_(MODEM_1_0 | {"gateway.modem.limit": "50p"}) for arm in (PRIORITY, IN_THE_MODEM)]
    evidence.prepare(old)
    rates = [throughput(evidence, arm, UPLOAD) for arm in (PRIORITY, IN_THE_MODEM)]
    return given(
        bool((modem <= bridge).all()),
        f"bridge {findings.number(bridge)} ms, modem {findings.number(modem)} ms; upload {findings.number(rates[0])}"
        f" and {findings.number(rates[1])} kbit/s",
        "priority in the modem needs no shaper and no rate. With a DOCSIS 1.0 modem:"
        f" {findings.number(game_delay(evidence, old[0]))} and {findings.number(game_delay(evidence, old[1]))} ms",
    )
