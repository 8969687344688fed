"""Table 1: bytes and packets of the streams alone and over one connection, in its condition (section 4.3).

The generator was fitted to the totals of the streams alone (models/mmo/anarchy-online.toml). Those of the multiplexed
stream are not fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import TCP, check, duration_s, multiplexed, simplex, wire_bytes, wire_packets
from gamelane.claims.griwodz2006.readings import WORDS, agreed, because
from gamelane.claims.register import Check

Measure = Callable[[Evidence, Arm], Numbers]

ETHERNET = "the table counts both directions, with Ethernet headers (docs/claims/griwodz2006.md)"
ACKS = {"ACKs delayed by 40 ms": {}, "ACKs of Linux 6.12": {f"{TCP}.delayed_ack": "linux"}}
UNKNOWN_ACKS = "gamelane does not have the ACKs of the paper's Linux 2.6.11"
LINUX_2_6 = (
    "the fewer ACKs, the more writes the stream merges. Linux 2.6.12 acknowledges a small segment as soon as it is"
    " read, if the connection sends one way only (`cleanup_rbuf` of net/ipv4/tcp.c), which is more like 6.12"
)


def _size(evidence: Evidence, arm: Arm) -> Numbers:
    return wire_bytes(evidence, arm) / wire_packets(evidence, arm)


def _simplex(of: Measure, unit: str) -> Check:
    return lambda evidence, claim: findings.near(
        of(evidence, simplex()), claim.theirs, claim.limits["percent"], unit, ETHERNET
    )


def _multiplexed(of: Measure, unit: str) -> Check:
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        values = {name: of(evidence, multiplexed().with_(change)) for name, change in ACKS.items()}
        return because(_near(values, claim.theirs, claim, unit), LINUX_2_6)

    return judge


def _near(values: Mapping[str, Numbers], theirs: float, claim: Claim, unit: str) -> Finding:
    found = {name: findings.near(each, theirs, claim.limits["percent"], unit) for name, each in values.items()}
    return agreed(found, UNKNOWN_ACKS)


check("trace.size", "t1.size")(_simplex(_size, "B"))
check("t1.bytes")(_simplex(wire_bytes, "B"))
check("t1.packets")(_simplex(wire_packets, "packets"))
check("t1.mux-bytes")(_multiplexed(wire_bytes, "B"))
check("t1.mux-packets")(_multiplexed(wire_packets, "packets"))
check("t1.mux-size")(_multiplexed(_size, "B"))


@check("t1.time")
def time(evidence: Evidence, claim: Claim) -> Finding:
    seconds = duration_s(evidence)
    allowed = claim.limits["percent"] / 100
    return given(
        all(abs(seconds - theirs) <= allowed * theirs for theirs in claim.theirs),
        f"{seconds:.0f} s for both",
        "the paper does not say why its replays differ by 51 s",
    )


@check("t1.mbps")
def megabits(_: Evidence, claim: Claim) -> Finding:
    rates = np.array(claim.theirs["bytes"]) * 8 / np.array(claim.theirs["seconds"]) / 1e6
    return given(
        [round(float(rate), 3) for rate in rates] == claim.theirs["mbps"],
        " and ".join(f"{rate:.4f} Mbit/s" for rate in rates),
    )


@check("mux.save-bytes")
def saved_bytes(evidence: Evidence, claim: Claim) -> Finding:
    found = _near(_saved(evidence, wire_bytes), claim.theirs, claim, "%")
    return because(found, f"table 1 itself has 38.7 %; {LINUX_2_6}")


@check("mux.save-packets")
def saved_packets(evidence: Evidence, claim: Claim) -> Finding:
    text, table = (
        _near(_saved(evidence, wire_packets), claim.theirs[source], claim, "%") for source in ("text", "table")
    )
    return because(
        text,
        f"the text's {claim.theirs['text']} % is true for bytes. Its table 1 gives {claim.theirs['table']} % of the"
        f" packets. By the same criterion, the table {WORDS[table.outcome]}; {LINUX_2_6}",
    )


def _saved(evidence: Evidence, of: Measure) -> dict[str, Numbers]:
    """Return the share that multiplexing saves, in per cent, with each way to delay ACKs."""
    return {
        name: 100 * (1 - of(evidence, multiplexed().with_(change)) / of(evidence, simplex().with_(change)))
        for name, change in ACKS.items()
    }


@check("mux.sign")
def signs(evidence: Evidence, _: Claim) -> Finding:
    pairs: tuple[tuple[str, Measure, str, Arm, Arm], ...] = (
        ("bytes", wire_bytes, "B", multiplexed(), simplex()),
        ("packets", wire_packets, "", multiplexed(), simplex()),
        ("size", _size, "B", simplex(), multiplexed()),
    )
    names = {simplex(): "simplex", multiplexed(): "multiplexed"}
    return findings.all_of(
        *(
            findings.less(f"{name}: {names[small]}", of(evidence, small), names[large], of(evidence, large), unit)
            for name, of, unit, small, large in pairs
        )
    )


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [arm.with_(change) for arm in (simplex(), multiplexed()) for change in ACKS.values()]
