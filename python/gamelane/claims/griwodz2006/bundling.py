"""The log of figure 6, and the redundancy that section 5 proposes (RDB)."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import TCP, Condition, check, simplex, thin

LOSSY = Condition(5, 100, 0)
RDB = {f"{TCP}.rdb": "true", f"{TCP}.rdb_segments": "1"}
RDB_ALL = {f"{TCP}.rdb": "true"}

REPLAYED = "crates/tcp/tests/endpoints/figure_6.rs drives our sender through the log and reproduces every line"


@check("fig6.piggyback")
def piggyback(evidence: Evidence, _: Claim) -> Finding:
    included = thin(evidence, simplex(LOSSY), "nth.1.included")
    return given(
        bool(np.all(included > 0)),
        f"153 B at 5583 from packets of 70 and 83 B; in our runs at {LOSSY} {findings.number(included)} packets"
        " were included",
        f"{REPLAYED}. Packet 131 is not included because Linux 2.6 includes one neighbour, not all",
    )


@check("fig6.rto")
def timeout(_: Evidence, __: Claim) -> Finding:
    sent, again = 463.691, 464.737
    return given(
        round(again - sent, 3) == 1.046,
        f"{again} - {sent} = {again - sent:.3f} s",
        f"calculated from their log; {REPLAYED} with this timeout",
    )


@check("fig6.nofast")
def no_fast_retransmit(evidence: Evidence, _: Claim) -> Finding:
    fast = thin(evidence, simplex(), "fast_retransmissions") / thin(evidence, simplex(), "retransmitted_segments")
    return given(
        float(fast.mean()) < 0.1,
        f"{findings.number(100 * fast)} % of the retransmitted segments at 1 %, 100 ms are fast retransmissions",
        f"two duplicate ACKs trigger no retransmission: {REPLAYED}",
    )


@check("rdb.idea")
def idea(evidence: Evidence, _: Claim) -> Finding:
    copies = thin(evidence, simplex(LOSSY).with_(RDB), "bundled_copies")
    packets = thin(evidence, simplex(LOSSY).with_(RDB), "packets")
    return given(
        bool(np.all(copies > 0)),
        f"{findings.number(100 * copies / packets)} % of the new packets repeat their unacknowledged predecessor",
        "data is bundled as soon as it is unacknowledged, as in the Linux patch of 2016. The paper's 'if not"
        " acknowledged by the simple RTO' would be later. Most packets are acknowledged before the next is written,"
        " so there is little to repeat",
    )


@check("rdb.doubles")
def doubles(evidence: Evidence, _: Claim) -> Finding:
    plain, bundled, every = (
        100 * _late(evidence, arm) for arm in (simplex(LOSSY), simplex(LOSSY).with_(RDB), simplex(LOSSY).with_(RDB_ALL))
    )
    return findings.less(
        "messages that waited for a timeout: with RDB",
        bundled,
        "without",
        plain,
        "%",
        "counts messages later than 300 ms: a one-way time of 100 ms plus the 200 ms margin of the first timeout."
        f" With as many predecessors as fit: {findings.number(every)} %. The loss falls from p to p² only if the"
        " next write comes before the timeout. In this game it mostly does not",
    )


def _late(evidence: Evidence, arm: Arm) -> Numbers:
    return np.array(evidence.derived(arm, "late", _share_later_than_a_timeout), dtype=float)


def _share_later_than_a_timeout(run: _native.Run) -> float:
    rows = columns(run, "deliveries")
    return float(np.mean(rows["delay_ms"][rows["direction"] == "down"] > 300))


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [simplex(LOSSY).with_(RDB)]
