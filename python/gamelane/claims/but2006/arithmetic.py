"""Section II.A: a game packet behind a burst of TCP, in a FIFO and in a priority queue. Simulated, not calculated."""

from __future__ import annotations

from importlib import resources

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import check
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, given

FIFO_BURST, PRIORITY_BURST = Arm.of({}), Arm.of({"gateway.up.queue": "priority"})


def burst(evidence: Evidence) -> Evidence:
    """Return evidence over the scenario of figure 1."""
    file = resources.files(__name__.rpartition(".")[0]) / "burst.toml"
    return evidence.beside("burst", lambda: _native.Scenario.parse(file.read_text(encoding="utf-8"), "burst.toml", []))


def waits(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the queueing delay of the three game packets in ms."""
    return np.array([evidence.values(arm, f"flows.{name}.up.queue_delay_ms.max")[0] for name in NAMES])


NAMES = ("one", "two", "three")


@check("arith.burst250")
def burst_of_four(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(
        waits(burst(evidence), FIFO_BURST)[:1], 250, 1, "ms", "minus the bytes that left before it arrived"
    )


@check("arith.single62")
def one_in_service(evidence: Evidence, _: Claim) -> Finding:
    wait = waits(burst(evidence), PRIORITY_BURST)[0]
    return given(
        0.9 * 62.5 < wait <= 62.5, f"{wait:.1f} ms", "at most 62.5 ms: the packet on the wire is not interrupted"
    )


@check("arith.otherprio")
def others_first(evidence: Evidence, _: Claim) -> Finding:
    own = waits(burst(evidence), PRIORITY_BURST)
    service = 100 * 8 / 192
    return given(
        bool(np.allclose(np.diff(own), service, atol=0.25)),
        ", ".join(f"{wait:.2f}" for wait in own) + " ms for the first, second and third",
        f"each waits for the packets before it, {service:.2f} ms for 100 B, minus up to 0.2 ms as it arrives later",
    )
