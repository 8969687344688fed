"""Claims about the inputs."""

from __future__ import annotations

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


@check("up-model", "down-model")
def models(evidence: Evidence, _: Claim) -> Finding:
    sent = _native.generate(_native.Scenario.parse(QUAKE, "quake3-fixed.toml", []), evidence.base.seed)
    found = []
    for direction in (True, False):
        mine = np.asarray(sent["up"]) == direction
        interval = np.diff(np.asarray(sent["t_ns"], dtype=np.int64)[mine]).mean() / 1e6
        found.append((int(np.asarray(sent["payload"])[mine].mean()), round(float(interval), 3)))
    return given(
        found == [(73, 38.0), (155, 66.0)],
        ", ".join(f"{size} B every {interval:g} ms" for size, interval in found),
        "the model quake3-fixed. The tables and the scenario have only the upstream, every 38.93 ms, because iperf"
        " sends 73 B at 15 kbit/s so",
    )


@check("procedure")
def procedure(evidence: Evidence, _: Claim) -> Finding:
    return given(
        evidence.base.duration_s == 600,
        f"{evidence.base.duration_s:g} s, {evidence.repeats} seeds",
        "packets are timed at the hosts, at the sender and at the receiver",
    )


@check("altq")
def altq(evidence: Evidence, _: Claim) -> Finding:
    gateway = evidence.document()["gateway"]
    return given(
        gateway["up"]["queue"] == "priority" and gateway["priority"] == ["game", "game2"],
        "strict priority for the UDP streams, 50 packets per queue as in ALTQ, shaped to 192 kbit/s",
        "160.2 kbit/s of TCP and 15409 packets in 600 s are 191 kbit/s on Ethernet",
    )


@check("cbr")
def constant(evidence: Evidence, _: Claim) -> Finding:
    spread = evidence.derived(prioritised("1t1u"), "sent", _interval_spread)
    return given(max(spread) < 1e-3, f"sending intervals differ by {1e3 * max(spread):.2g} us at most")


def _interval_spread(run: _native.Run) -> float:
    """Return the longest minus the shortest sending interval in ms, if all packets arrived."""
    table = columns(run, "delay")
    mine = (table["flow"] == table["flow"][0]) & (table["direction"] == "up")
    sent = np.sort((1e3 * table["t_s"] - table["one_way_ms"])[mine])
    return float(np.ptp(np.diff(sent)))
