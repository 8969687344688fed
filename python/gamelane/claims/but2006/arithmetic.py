"""Section II.A: a game packet behind a burst of TCP, in a FIFO and in a priority queue. Simulated, not calculated."""

from __future__ import annotations

from importlib import resources

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import check
from gamelane.claims.evidence import PLAIN, Arm, Evidence, Numbers
from gamelane.claims.findings import Finding

FIFO_BURST, PRIORITY_BURST = PLAIN, Arm.of({"gateway.up.queue": "priority"})


def burst(evidence: Evidence) -> Evidence:
    """Return evidence over the scenario of figure 1."""
    file = resources.files(__name__.rpartition(".")[0]) / "burst.toml"
    return evidence.beside("burst", lambda: _native.Scenario.parse(file.read_text(encoding="utf-8"), "burst.toml", []))


def waits(evidence: Evidence, arm: Arm) -> list[Numbers]:
    """Return the queueing delay of the three game packets in ms."""
    return [evidence.values(arm, f"flows.{name}.up.queue_delay_ms.max") for name in NAMES]


NAMES = ("one", "two", "three")


@check("arith.burst250")
def burst_of_four(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(
        waits(burst(evidence), FIFO_BURST)[0],
        claim.theirs,
        claim.limits["percent"],
        "ms",
        "minus the bytes that left before it arrived",
    )


@check("arith.single62")
def one_in_service(evidence: Evidence, claim: Claim) -> Finding:
    return findings.near(
        waits(burst(evidence), PRIORITY_BURST)[0],
        claim.theirs,
        claim.limits["percent"],
        "ms",
        "62.5 ms are a full packet. The packet on the wire is not interrupted",
    )


@check("arith.otherprio")
def others_first(evidence: Evidence, claim: Claim) -> Finding:
    first, second, third = waits(burst(evidence), PRIORITY_BURST)
    service = claim.theirs["packet_bytes"] * 8 / claim.theirs["rate_kbps"]
    lowest, highest = service - claim.limits["ms"], service + claim.limits["ms"]
    return findings.all_of(
        findings.between(second - first, lowest, highest, "ms longer than the first"),
        findings.between(third - second, lowest, highest, "ms longer than the second"),
        why=f"{service:.2f} ms for 100 B, minus up to 0.2 ms because each arrives later",
    )
