"""Claims about the inputs: the grid, the settings and the dropper of sections 4.1 and 4.2."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import PLAIN, Arm, Evidence
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import GRID, PLAYERS, SETTINGS, check, simplex, thin
from gamelane.claims.griwodz2006.readings import together


def _players(evidence: Evidence, arm: Arm) -> dict[str, Any]:
    flows: list[dict[str, Any]] = evidence.document(arm)["flow"]
    return next(flow for flow in flows if flow["name"] == PLAYERS)


@check("setup.grid")
def grid(evidence: Evidence, claim: Claim) -> Finding:
    found = {_condition(evidence, simplex(condition)) for condition in GRID}
    theirs = set(product(*(claim.theirs[key] for key in ("loss", "delay", "jitter"))))
    return given(
        found == theirs,
        f"{len(found)} conditions: {', '.join(map(str, GRID))}",
        "jitter of 10 % is uniform, drawn for each packet, and keeps packets in order; netem may have reordered them",
    )


def _condition(evidence: Evidence, arm: Arm) -> tuple[float, float, float]:
    """Return loss (%), mean delay (ms), each way, and jitter (% of the delay), from the scenario."""
    flow = _players(evidence, arm)
    loss = float(flow["loss"].removesuffix("%"))
    least = _milliseconds(evidence.document(arm)["link"]["rtt"]) / 2
    half_spread = _milliseconds(flow["path_jitter"]) / 2
    delay = least + half_spread
    return loss, delay, 100 * half_spread / delay


def _milliseconds(text: str) -> float:
    if text.endswith("ms"):
        return float(text.removesuffix("ms"))
    return 1000 * float(text.removesuffix("s"))


@check("setup.both-ways")
def both_ways(evidence: Evidence, claim: Claim) -> Finding:
    ratios = {
        f"{way}, {condition}": 100 * evidence.values(simplex(condition), f"flows.{PLAYERS}.{way}.loss") / condition.loss
        for condition in GRID
        for way in ("up", "down")
    }
    means = [float(each.mean()) for each in ratios.values()]
    return together(
        {name: findings.near(each, 1, claim.limits["percent"], "") for name, each in ratios.items()},
        f"the loss each way is {min(means):.3f} to {max(means):.3f} of the condition's",
    )


@check("setup.early")
def early(evidence: Evidence, claim: Claim) -> Finding:
    ratios = [
        thin(evidence, simplex(condition), "duplicate_segments")
        / thin(evidence, simplex(condition), "retransmitted_segments")
        for condition in GRID
    ]
    return findings.near(
        np.mean(ratios, axis=0),
        claim.theirs,
        claim.limits["percent"],
        "of the retransmitted segments",
        "below a half, because the ACK of a packet that follows within 200 ms replaces a lost ACK; nothing replaces"
        " data",
    )


@check("setup.replay")
def replay(evidence: Evidence, claim: Claim) -> Finding:
    writes = {key: value for key, value in _players(evidence, PLAIN).items() if key in {"trace", "model"}}
    return given(
        claim.theirs in writes,
        ", ".join(f"{key} {value}" for key, value in writes.items()),
        "the trace is not public, so our generator makes the writes. With a capture (`trace`) only its writes are"
        " repeated, not its retransmissions (crates/capture/tests/writes.rs)",
    )


@check("setup.kernel")
def kernel(evidence: Evidence, claim: Claim) -> Finding:
    tcp = _players(evidence, PLAIN)["tcp"]
    return given(
        tcp["stack"] in {f"linux-{version}" for version in claim.theirs},
        f"stack {tcp['stack']}, timer {tcp['timer']}, delayed ACKs {tcp['delayed_ack']}",
        "gamelane has no row for Linux 2.6, so the scenario names its mechanisms. Its way to delay ACKs is a guess",
    )


@check("setup.variants")
def settings(evidence: Evidence, claim: Claim) -> Finding:
    names = [_name(_players(evidence, simplex(setting=setting))["tcp"]) for setting in SETTINGS]
    return given(
        names == claim.theirs,
        ", ".join(names),
        "the paper does not say whether Westwood, BIC and Vegas ran with SACK. Simplex streams run them without, the"
        " multiplexed stream with and without",
    )


def _name(tcp: dict[str, Any]) -> str:
    """Return the paper's name of a TCP setting."""
    if tcp["congestion"] != "newreno":
        return {"westwood": "Westwood", "bic": "BIC", "vegas": "Vegas"}[tcp["congestion"]]
    names = {"newreno": "New Reno", "sack": "SACK", "fack": "FACK"}
    dsack = tcp.get("dsack", False)
    return "+".join(["DSACK"] * dsack + [names[tcp["recovery"]]] * (not dsack or tcp["recovery"] == "fack"))
