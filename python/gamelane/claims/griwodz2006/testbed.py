"""Claims about the inputs: the grid, the settings and the dropper of sections 4.1 and 4.2."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import GRID, PLAYERS, SETTINGS, check, modified, multiplexed, simplex, thin


@check("setup.grid")
def grid(evidence: Evidence, _: Claim) -> Finding:
    arms = [arm(condition) for arm in (simplex, modified, multiplexed) for condition in GRID]
    hashes = {evidence.scenario(arm).hash for arm in arms}
    return given(
        len(GRID) == 8 and len(hashes) == len(arms),
        f"{len(GRID)} conditions: {', '.join(map(str, GRID))}; {len(hashes)} different arms with FACK",
        "±10 % jitter is uniform, drawn for each packet, and keeps packets in order; netem may have reordered them",
    )


@check("setup.both-ways")
def both_ways(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in GRID:
        for way in ("up", "down"):
            lost = 100 * evidence.values(simplex(condition), f"flows.{PLAYERS}.{way}.loss")
            found.append(abs(float(lost.mean()) - condition.loss) < 0.1 * condition.loss)
    return given(all(found), "each way has the loss of the condition within a tenth, in all 8 conditions")


@check("setup.early")
def early(evidence: Evidence, _: Claim) -> Finding:
    ratio = np.concatenate(
        [
            thin(evidence, simplex(condition), "duplicate_segments")
            / thin(evidence, simplex(condition), "retransmitted_segments")
            for condition in GRID
        ]
    )
    return findings.near(
        ratio,
        0.5,
        10,
        "of the retransmitted segments arrived in vain, mean of the 8 conditions",
        "below a half, because the ACK of a packet that follows within 200 ms replaces a lost ACK; nothing replaces"
        " data",
    )


@check("setup.replay")
def replay(evidence: Evidence, _: Claim) -> Finding:
    flow = next(flow for flow in evidence.document()["flow"] if flow["name"] == PLAYERS)
    return given(
        flow["model"] == "anarchy-online",
        "the generator makes application writes; every retransmission is our TCP's",
        "our construction, because the trace is not public. With a capture (`trace`) only its writes are repeated, not"
        " its retransmissions (crates/capture/tests/writes.rs)",
    )


@check("setup.variants")
def settings(evidence: Evidence, _: Claim) -> Finding:
    hashes = {evidence.scenario(simplex(setting=setting)).hash for setting in SETTINGS}
    return given(
        len(hashes) == 8,
        ", ".join(SETTINGS),
        "the paper does not say whether Westwood, BIC and Vegas ran with SACK. It lists them beside 'plain' New"
        " Reno, so here they run without. LOWLAT only moves work inside the receiving host, which has no cost here",
    )
