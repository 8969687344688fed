"""Settings of the paper that the scenario has: sections II to III.C, and the game's rate from IV.B."""

from __future__ import annotations

from typing import Any

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import FIFO, GAME, PRIORITY, TWO_TRANSFERS, check, game_delay
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, given

GAME_ALONE = FIFO.with_({"flow.upload.enabled": "false", "flow.download.enabled": "false", "duration": "60s"})
RATES = ("64kbit", "128kbit", "192kbit", "256kbit", "1mbit", "2mbit")
PROTOCOLS = {"game": "udp", "bulk": "tcp"}


@check("rates")
def rates(evidence: Evidence, claim: Claim) -> Finding:
    arms = [PRIORITY.with_({"link.up": rate, "gateway.shape.up": rate, "duration": "60s"}) for rate in RATES]
    evidence.prepare(arms)
    delays = [f"{rate} {game_delay(evidence, arm).mean():.1f} ms" for rate, arm in zip(RATES, arms, strict=True)]
    return given(
        [evidence.document(arm)["link"]["up"] for arm in (arms[0], arms[-1])] == claim.theirs,
        ", ".join(RATES),
        f"mean queueing delay of the game with priority: {', '.join(delays)}",
    )


@check("two-queues")
def two_queues(evidence: Evidence, claim: Claim) -> Finding:
    document = evidence.document(PRIORITY)
    first = document["gateway"]["priority"]
    found = {
        "priority": sorted({_protocol(flow) for flow in document["flow"] if flow["name"] in first}),
        "rest": sorted({_protocol(flow) for flow in document["flow"] if flow["name"] not in first}),
    }
    return given(
        found == claim.theirs and document["gateway"]["up"]["queue"] == "priority",
        found,
        "the scenario names the game, which is the only UDP flow",
    )


def _protocol(flow: dict[str, Any]) -> str:
    return PROTOCOLS[flow["app"]]


@check("fair-baseline")
def fair_baseline(evidence: Evidence, claim: Claim) -> Finding:
    found = {
        name: evidence.document(arm)["gateway"]["shape"]["up"] for name, arm in (("fifo", FIFO), ("priority", PRIORITY))
    }
    return given(found == claim.theirs, found)


@check("game-cbr")
def constant_rate(evidence: Evidence, claim: Claim) -> Finding:
    sent = _native.generate(evidence.scenario(GAME_ALONE), evidence.base.seed)
    up = np.asarray(sent["up"])
    found, texts = [], []
    for direction, mine in (("up", up), ("down", ~up)):
        sizes = np.unique(np.asarray(sent["payload"])[mine])
        gaps = np.unique(np.diff(np.asarray(sent["t_ns"], dtype=np.int64)[mine])) / 1e6
        found.append({"sizes": len(sizes), "intervals": len(gaps)})
        texts.append(f"{direction} {sizes[0]} B every {gaps[0]:g} ms")
    return given(
        found == [claim.theirs, claim.theirs],
        ", ".join(texts),
        "the numbers are from memory: they are in the paper's reference [9], which could not be opened",
    )


@check("game-pps")
def packets_a_second(evidence: Evidence, claim: Claim) -> Finding:
    sent = sum(evidence.values(GAME_ALONE, f"flows.{GAME}.{way}.sent") for way in ("up", "down"))
    seconds = 60 - evidence.base.warmup_s
    return findings.near(
        np.asarray(sent / seconds),
        claim.theirs,
        claim.limits["percent"],
        "packets/s",
        "the paper does not say whether it counts one direction. 50 a second upstream alone would be 47 kbit/s on"
        " Ethernet, more than the 192 - 150 kbit/s that TCP leaves",
    )


@check("three-runs")
def three_runs(evidence: Evidence, claim: Claim) -> Finding:
    found = [_case(evidence.document(arm)) for arm in (TWO_TRANSFERS, FIFO, PRIORITY)]
    return given(found == claim.theirs, found)


def _case(document: dict[str, Any]) -> str:
    flows = " + ".join(flow["name"] for flow in document["flow"] if flow.get("enabled", True))
    return f"{flows}: {document['gateway']['up']['queue']}"
