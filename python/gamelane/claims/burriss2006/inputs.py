"""Claims about the inputs."""

from __future__ import annotations

from math import floor

import numpy as np

from gamelane import _native
from gamelane.claims import Claim
from gamelane.claims.burriss2006.arms import check, prioritised
from gamelane.claims.evidence import Evidence, columns
from gamelane.claims.findings import Finding, given

QUAKE = """
name = "quake3-fixed"
duration = "60s"
[link]
down = "10mbit"
up = "10mbit"
[[flow]]
name = "game"
app = "game"
model = "quake3-fixed"
"""


@check("up-model")
def upstream(evidence: Evidence, claim: Claim) -> Finding:
    sizes = {flow["size"] for flow in evidence.document()["flow"] if flow["app"] == "udp"}
    interval = _intervals(evidence)["mean"]
    return given(
        sizes == {f"{claim.theirs['size_B']}B"} and floor(interval) == claim.theirs["interval_ms"],
        f"{', '.join(sizes)} every {interval:.2f} ms",
        "the fraction comes from the tables: 15409 packets received in 600 s with 0.027 % lost. The slides do not say"
        " whether 73 B is payload; it is payload here",
    )


@check("down-model")
def downstream(evidence: Evidence, claim: Claim) -> Finding:
    sent = _native.generate(_native.Scenario.parse(QUAKE, "quake3-fixed.toml", []), evidence.base.seed)
    down = ~np.asarray(sent["up"])
    sizes = np.unique(np.asarray(sent["payload"])[down])
    interval = float(np.diff(np.asarray(sent["t_ns"], dtype=np.int64)[down]).mean() / 1e6)
    return given(
        sizes.tolist() == [claim.theirs["size_B"]] and round(interval, 3) == claim.theirs["interval_ms"],
        f"{', '.join(map(str, sizes))} B every {interval:g} ms",
        "all streams of the tables are upstream, so the scenario has none downstream",
    )


@check("procedure")
def procedure(evidence: Evidence, claim: Claim) -> Finding:
    duration = evidence.document()["duration"]
    return given(
        duration == f"{claim.theirs['seconds']}s" and evidence.repeats == claim.theirs["repeats"],
        f"{duration}, {evidence.repeats} seeds",
        "packets are timed at the sender and at the receiver",
    )


@check("altq")
def altq(evidence: Evidence, claim: Claim) -> Finding:
    document = evidence.document()
    gateway = document["gateway"]
    first = sorted(flow["name"] for flow in document["flow"] if flow["app"] == claim.theirs["first"])
    return given(
        gateway["up"]["queue"] == claim.theirs["queue"] and sorted(gateway["priority"]) == first,
        f"queue {gateway['up']['queue']}, first {', '.join(gateway['priority'])}",
        "the slides name no rate and no limit. The scenario has 50 packets per queue, the default of ALTQ, and"
        " 192 kbit/s from but2006",
    )


@check("cbr")
def constant(evidence: Evidence, claim: Claim) -> Finding:
    spread_us = 1e3 * _intervals(evidence)["spread"]
    return given(spread_us < claim.limits["us"], f"{spread_us:.2g} us between the longest and the shortest")


def _intervals(evidence: Evidence) -> dict[str, float]:
    """Return the sending intervals of the first UDP stream in ms: the mean, and the longest minus the shortest."""
    found = evidence.derived(prioritised("1t1u"), "sent", _measure)
    return {"mean": found[0]["mean"], "spread": max(run["spread"] for run in found)}


def _measure(run: _native.Run) -> dict[str, float]:
    """Measure the intervals in one run, in which all packets arrive."""
    delay = columns(run, "delay")
    mine = (delay["flow"] == "game") & (delay["direction"] == "up")
    between = np.diff(np.sort((1e3 * delay["t_s"] - delay["one_way_ms"])[mine]))
    return {"mean": float(between.mean()), "spread": float(np.ptp(between))}
