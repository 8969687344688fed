"""The trace of section 2: the same measurements on our generator, with its own paths and just under 1 % loss.

The trace is not public. The generator was fitted to most figures of this section (models/mmo/anarchy-online.toml).
"""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np

from gamelane import _native
from gamelane.analysis.shared_paths import shared_paths
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, cannot_tell, given
from gamelane.claims.griwodz2006.arms import PLAYERS, bursts, check, duration_s, thin

NO_LOSS = {f"flow.{PLAYERS}.loss": "0%"}
WINDOW_S = 10


def trace() -> Arm:
    """Return the arm with the model's paths and 0.45 % lost each way: a lost ACK looks to a server like lost data."""
    return Arm.of({f"flow.{PLAYERS}.paths": "model", f"flow.{PLAYERS}.loss": "0.45%"})


def bursty() -> Arm:
    """Return the trace with the same mean of losses, in bursts of two packets on average."""
    return trace().with_(bursts(0.45, 2))


@check("trace.hour")
def hour(evidence: Evidence, claim: Claim) -> Finding:
    seconds = duration_s(evidence)
    return given(
        seconds / 3600 == claim.theirs,
        f"{seconds:.0f} s",
        "the paper contradicts itself: in table 1, replays of the trace last 1855 and 1804 s. The scenario lasts as"
        " long as the first",
    )


@check("trace.conns")
def connections(evidence: Evidence, claim: Claim) -> Finding:
    players = thin(evidence, trace(), "connections")
    return given(bool(np.all(players == claim.theirs)), f"{players[0]:.0f}")


@check("trace.newreno")
def default_tcp(evidence: Evidence, claim: Claim) -> Finding:
    congestion = evidence.document(trace())["flow"][0]["tcp"]["congestion"]
    return given(congestion == claim.theirs, congestion, "with FACK, as in tables 1 and 2")


@check("trace.rtt")
def round_trip(evidence: Evidence, claim: Claim) -> Finding:
    least = claim.theirs["gt"]
    most = least * (1 + claim.limits["percent"] / 100)
    return findings.between(evidence.values(trace(), f"flows.{PLAYERS}.rtt_ms.mean"), least, most, "ms")


@check("trace.rttmax")
def longest_round_trip(evidence: Evidence, claim: Claim) -> Finding:
    longest = evidence.values(trace(), f"flows.{PLAYERS}.rtt_ms.max") / 1e3
    return findings.near(longest, claim.theirs, claim.limits["percent"], "s")


@check("trace.maxdelay")
def longest_delay(evidence: Evidence, claim: Claim) -> Finding:
    more = _more(evidence)
    independent, in_bursts = (_longest(more, arm) / 1e3 for arm in (trace(), bursty()))
    factor = claim.limits["factor"]
    return findings.between(
        independent,
        claim.theirs / factor,
        claim.theirs * factor,
        "s",
        "four times the runs, because such packets are rare. 67 s take six timeouts in a row, which independent losses"
        " of under 1 % almost never give. With the same mean in bursts of 2 packets the longest delay is"
        f" {findings.number(in_bursts)} s",
    )


@check("trace.rtx6")
def six_retransmissions(evidence: Evidence, claim: Claim) -> Finding:
    more = _more(evidence)
    independent, in_bursts = (thin(more, arm, "most_retransmissions") for arm in (trace(), bursty()))
    return findings.between(
        independent,
        claim.theirs,
        inf,
        "retransmissions",
        "losses of their trace must have come in bursts on single connections. The paper does not say so. With bursts"
        f" of 2 packets and the same mean it is {findings.number(in_bursts)}",
    )


def _more(evidence: Evidence) -> Evidence:
    """Return four times the runs, for what is rare in one."""
    return evidence.beside("four times the runs", times=4)


def _longest(evidence: Evidence, arm: Arm) -> Numbers:
    def longest(run: _native.Run) -> float:
        return float(columns(run, "retransmissions")["application_delay_ms"].max())

    return np.array(evidence.derived(arm, "longest delay", longest), dtype=float)


@check("trace.pkt-per-rtt")
def packets_per_round_trip(evidence: Evidence, claim: Claim) -> Finding:
    more = _more(evidence)
    rate = thin(more, trace(), "packets") / thin(more, trace(), "connections") / duration_s(evidence)
    each = rate * more.values(trace(), f"flows.{PLAYERS}.rtt_ms.mean") / 1e3
    return findings.below(each, claim.theirs["lt"], "packets a round trip")


@check("trace.pps")
def packets_per_second(evidence: Evidence, claim: Claim) -> Finding:
    limit = claim.theirs["lt"] * duration_s(evidence)

    def fast(run: _native.Run) -> int:
        rows = columns(run, "deliveries")
        writes = np.bincount(rows["player"][rows["direction"] == "down"].astype(int))
        return int(np.sum(writes >= limit))

    found = np.array(evidence.derived(trace(), f"streams of {limit} writes", fast), dtype=float)
    return findings.zero(found, "streams are not below")


@check("trace.payload")
def payload(_: Evidence, claim: Claim) -> Finding:
    bytes_, packets, data = (claim.theirs[key] for key in ("bytes", "packets", "data_packets"))
    headers = (bytes_[0] - bytes_[1]) / (packets[0] - packets[1])
    mean = (bytes_[0] - headers * packets[0]) / data
    return given(
        mean < claim.theirs["lt"],
        f"{mean:.0f} B on average",
        f"table 1's multiplexing saves {headers:.1f} B for each packet saved: the headers. What is left of its"
        f" {bytes_[0]} B is the payload of table 2's {data} data packets. The packets of figure 6 have 25 to 94 B",
    )


@check("trace.loss")
def loss(evidence: Evidence, claim: Claim) -> Finding:
    more = _more(evidence)
    again = 100 * thin(more, trace(), "retransmitted_segments") / thin(more, trace(), "packets")
    return findings.below(
        again,
        claim.theirs["lt"],
        "% of the packets were retransmitted",
        "we set 0.45 % each way for this, because a server's capture cannot tell a lost ACK from lost data",
    )


@check("trace.uncorrelated")
def uncorrelated(evidence: Evidence, claim: Claim) -> Finding:
    seconds = duration_s(evidence)
    mean = np.array(evidence.derived(trace(), "correlation", lambda run: correlation(run, seconds)), dtype=float)
    largest = claim.limits["largest"]
    return findings.between(
        mean,
        claim.theirs - largest,
        claim.theirs + largest,
        f"is the mean correlation in windows of {WINDOW_S} s",
        "each packet of the scenario is lost independently, as the authors assume",
    )


def correlation(run: _native.Run, seconds: float) -> float:
    """Return the mean correlation over pairs of connections of the retransmissions in each window."""
    rows = columns(run, "retransmissions")
    windows = int(seconds / WINDOW_S) + 1
    bins = np.zeros((int(rows["connection"].max()) + 1, windows))
    np.add.at(bins, (rows["connection"].astype(int), np.minimum(rows["t_s"] / WINDOW_S, windows - 1).astype(int)), 1)
    pairs = np.asarray(np.corrcoef(bins[bins.any(axis=1)]))
    return float(pairs[np.triu_indices_from(pairs, 1)].mean())


@check("trace.sharedpaths")
def groups(evidence: Evidence, claim: Claim) -> Finding:
    sizes: list[list[int]] = evidence.derived(trace().with_(NO_LOSS), "groups", _groups)
    large = np.array([sum(size >= claim.limits["members"] for size in each) for each in sizes], dtype=float)
    return findings.between(
        large,
        claim.limits["groups"],
        inf,
        f"groups; in the first run of {', '.join(f'{size:.0f}' for size in sizes[0][:10])} connections",
        "the generator puts them on 8 paths. The test is Wilcoxon's rank-sum test on each pair, Benjamini-Hochberg at"
        " 5 % (docs/models/shared-paths.md). The paper names neither form nor level",
    )


def _groups(run: _native.Run) -> list[int]:
    found = shared_paths(deliveries(run))
    return sorted((len(group) for group in found.groups if len(group) > 1), reverse=True)


def deliveries(run: _native.Run) -> dict[int, Numbers]:
    """Return the delivery delay of each message in ms, by player. Paths are symmetric, so it stands for the RTT."""
    rows = columns(run, "deliveries")
    order = np.argsort(rows["player"], kind="stable")
    players = rows["player"][order]
    starts = np.append(np.searchsorted(players, np.unique(players)), len(players))
    return {int(players[start]): rows["delay_ms"][order[start:end]] for start, end in pairwise(starts)}


@check("trace.continents")
def continents(evidence: Evidence, claim: Claim) -> Finding:
    def least(run: _native.Run) -> list[float]:
        return [2 * float(delays.min()) for delays in deliveries(run).values()]

    runs = [np.sort(each) for each in evidence.derived(trace().with_(NO_LOSS), "least", least)]
    clusters = [np.split(each, np.flatnonzero(np.diff(each) > claim.limits["gap_ms"]) + 1) for each in runs]
    first = ", ".join(f"{cluster[0]:.0f} to {cluster[-1]:.0f} ms" for cluster in clusters[0])
    return findings.between(
        np.array([len(each) for each in clusters], dtype=float),
        claim.theirs,
        inf,
        f"clusters of shortest round trips; in the first run {first}",
        "the generator's 8 paths are in the United States, Europe and Asia",
    )


@check("trace.c2s")
def client_to_server(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("the paper gives no number. The writes of the generator's clients are our guess")


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [trace(), trace().with_(NO_LOSS)]
