"""The log of figure 6, and the redundancy that section 5 proposes (RDB)."""

from __future__ import annotations

from math import inf

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import PLAYERS, TCP, Condition, check, simplex, thin

LOSSY = Condition(5, 100, 0)
RDB = {f"{TCP}.rdb": "true", f"{TCP}.rdb_segments": "1"}
RDB_ALL = {f"{TCP}.rdb": "true"}
NO_LOSS = {f"flow.{PLAYERS}.loss": "0%"}

REPLAYED = "crates/tcp/tests/endpoints/figure_6.rs drives our sender through the log and reproduces every line"


@check("fig6.piggyback")
def piggyback(_: Evidence, claim: Claim) -> Finding:
    first, following, again = (claim.theirs[key] for key in ("first", "next", "retransmission"))
    return given(
        again == [first[0], first[1] + following[1]] and following[0] == sum(first),
        f"{first[1]} + {following[1]} = {first[1] + following[1]} B from {first[0]} on",
        f"{REPLAYED}. Packet 131 is not included because Linux 2.6 includes one neighbour, not all",
    )


@check("fig6.rto")
def timeout(_: Evidence, claim: Claim) -> Finding:
    sent, again, elapsed = (claim.theirs[key] for key in ("sent", "again", "elapsed"))
    return given(
        round(again - sent, 3) == elapsed,
        f"{again} - {sent} = {again - sent:.3f} s",
        f"{REPLAYED}, with this timeout",
    )


@check("fig6.nofast")
def no_fast_retransmit(_: Evidence, claim: Claim) -> Finding:
    needed = claim.limits["needed"]
    return given(
        claim.theirs < needed,
        f"{claim.theirs} of {needed:g} duplicate ACKs",
        f"{REPLAYED}. How rare fast retransmissions are in our runs: `trace.timeouts`",
    )


@check("rdb.idea")
def idea(evidence: Evidence, claim: Claim) -> Finding:
    lossless = simplex(LOSSY).with_(NO_LOSS)
    bundled = lossless.with_(RDB)
    copies = 100 * thin(evidence, bundled, "bundled_copies") / thin(evidence, bundled, "packets")
    soon = 100 * np.array(evidence.derived(lossless, "soon", _share_written_within_a_round_trip), dtype=float)
    found = findings.near(copies / soon, 1, claim.limits["percent"], "copies for each such packet")
    return Finding(
        found.outcome,
        f"{findings.number(copies)} % carry a copy; {findings.number(soon)} % are written within a round trip",
        "our sender repeats data as soon as it is unacknowledged, as in the Linux patch of 2016. The paper would wait"
        " for 'the simple RTO', when the sender retransmits the packet anyway",
    )


def _share_written_within_a_round_trip(run: _native.Run) -> float:
    rows = columns(run, "deliveries")
    down = rows["direction"] == "down"
    written_ms, player = (rows["t_s"] * 1e3 - rows["delay_ms"])[down], rows["player"][down]
    order = np.lexsort((written_ms, player))
    gaps = np.diff(written_ms[order])[np.diff(player[order]) == 0]
    # Writes of one moment, before the connection is open, share a packet.
    return float(np.mean(gaps[gaps > 0] < 2 * LOSSY.delay))


@check("rdb.doubles")
def doubles(evidence: Evidence, claim: Claim) -> Finding:
    late_ms, times = claim.limits["late"], claim.theirs
    found, shares = [], []
    for loss in (1, 5):
        plain = simplex(Condition(loss, 100, 0))
        before, after = (_late(evidence, plain.with_(change), late_ms) for change in ({}, RDB))
        found.append(findings.between(before / after, times, inf, f"times fewer at {loss} %"))
        shares.append(f"at {loss} % {findings.number(before)} % without and {findings.number(after)} % with RDB")
    return findings.all_of(
        *found,
        why=f"messages that take {late_ms:g} ms or more: {'; '.join(shares)}. A copy helps only if the next write comes"
        " before the timeout, which four of ten do. A chance of 94 % or more cannot double",
    )


def _late(evidence: Evidence, arm: Arm, late_ms: float) -> Numbers:
    def share(run: _native.Run) -> float:
        rows = columns(run, "deliveries")
        return 100 * float(np.mean(rows["delay_ms"][rows["direction"] == "down"] >= late_ms))

    return np.array(evidence.derived(arm, f"later than {late_ms:g} ms", share), dtype=float)


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [simplex(LOSSY).with_(NO_LOSS | RDB)]
