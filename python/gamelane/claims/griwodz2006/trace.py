"""The trace of section 2: the same measurements on our generator, with its own paths and just under 1 % loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gamelane import _native
from gamelane.analysis.shared_paths import shared_paths
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, cannot_tell, given
from gamelane.claims.griwodz2006.arms import (
    CONNECTIONS,
    MULTIPLEXED,
    PLAYERS,
    TRACE_SECONDS,
    Condition,
    bursts,
    check,
    retransmission_delay,
    simplex,
    thin,
)

NO_LOSS = {f"flow.{PLAYERS}.loss": "0%"}
DATAGRAMS = {f"flow.{PLAYERS}.carriage": "datagrams"}
OURS = "measured on our generator, which was built to match this: the capture is not public"
LOSSY = Condition(5, 100, 0)


def trace() -> Arm:
    """Return the arm with the model's paths and 0.45 % lost each way: a lost ACK looks to a server like lost data."""
    return Arm.of({f"flow.{PLAYERS}.paths": "model", f"flow.{PLAYERS}.loss": "0.45%"})


@check("trace.hour")
def hour(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        f"a fact of their capture; the generator has no end, and runs for the {TRACE_SECONDS} s of table 1"
    )


@check("trace.conns")
def connections(evidence: Evidence, _: Claim) -> Finding:
    players = thin(evidence, trace(), "connections")
    return given(bool(np.all(players == CONNECTIONS)), f"{players[0]:.0f}", "an input")


@check("trace.rtt")
def round_trip(evidence: Evidence, _: Claim) -> Finding:
    return findings.between(evidence.values(trace(), f"flows.{PLAYERS}.rtt_ms.mean"), 250, 325, "ms", OURS)


@check("trace.rttmax")
def longest_round_trip(evidence: Evidence, _: Claim) -> Finding:
    return findings.near(evidence.values(trace(), f"flows.{PLAYERS}.rtt_ms.max") / 1e3, 1, 30, "s at most", OURS)


@check("trace.maxdelay")
def longest_delay(evidence: Evidence, _: Claim) -> Finding:
    independent, bursty = (_extreme(evidence, arm, "application_delay_ms") / 1e3 for arm in (trace(), _bursty()))
    return given(
        float(independent.mean()) > 6.7,
        f"{findings.number(independent)} s at most",
        "67 s take six timeouts in a row, which independent losses of under 1 % almost never give. With the same"
        f" mean in bursts of 2 packets it is {findings.number(bursty)} s, up to {bursty.max():.0f}",
    )


@check("trace.rtx6")
def six_retransmissions(evidence: Evidence, _: Claim) -> Finding:
    independent, bursty = (thin(evidence, arm, "most_retransmissions") for arm in (trace(), _bursty()))
    return given(
        float(independent.max()) >= 6,
        f"{findings.number(independent)} at most with independent losses",
        "the losses of their trace must have come in bursts on single connections, which the paper does not mention."
        f" With bursts of 2 packets and the same mean it is {findings.number(bursty)}",
    )


def _bursty() -> Arm:
    return trace().with_(bursts(0.45, 2))


def _extreme(evidence: Evidence, arm: Arm, column: str) -> Numbers:
    def largest(run: _native.Run) -> float:
        return float(columns(run, "retransmissions")[column].max())

    return np.array(evidence.derived(arm, f"largest {column}", largest), dtype=float)


@check("trace.pkt-per-rtt")
def packets_per_round_trip(evidence: Evidence, _: Claim) -> Finding:
    rate = thin(evidence, trace(), "packets") / CONNECTIONS / TRACE_SECONDS
    each = rate * evidence.values(trace(), f"flows.{PLAYERS}.rtt_ms.mean") / 1e3
    return given(float(each.max()) < 1, f"{findings.number(each)} on average", OURS)


@check("trace.pps")
def packets_per_second(evidence: Evidence, _: Claim) -> Finding:
    def busiest(run: _native.Run) -> float:
        rows = columns(run, "deliveries")
        return float(np.bincount(rows["player"][rows["direction"] == "down"].astype(int)).max()) / TRACE_SECONDS

    most = np.array(evidence.derived(trace(), "busiest", busiest), dtype=float)
    return given(float(most.max()) < 4, f"busiest connection {findings.number(most)} writes a second", OURS)


@check("trace.loss")
def loss(evidence: Evidence, _: Claim) -> Finding:
    again = 100 * thin(evidence, trace(), "retransmitted_segments") / thin(evidence, trace(), "packets")
    return given(
        float(again.max()) < 1,
        f"{findings.number(again)} % of the packets were retransmitted",
        "an input: 0.45 % each way, because a server's capture cannot tell a lost ACK from lost data",
    )


@check("trace.uncorrelated")
def uncorrelated(evidence: Evidence, _: Claim) -> Finding:
    def correlation(run: _native.Run) -> float:
        rows = columns(run, "retransmissions")
        bins = np.zeros((CONNECTIONS, TRACE_SECONDS // 10 + 1))
        np.add.at(
            bins, (rows["connection"].astype(int), np.minimum(rows["t_s"] / 10, bins.shape[1] - 1).astype(int)), 1
        )
        pairs = np.asarray(np.corrcoef(bins[bins.any(axis=1)]))
        return float(pairs[np.triu_indices_from(pairs, 1)].mean())

    mean = np.array(evidence.derived(trace(), "correlation", correlation), dtype=float)
    return given(
        bool(np.all(np.abs(mean) < 0.01)),
        f"mean correlation of the connections' losses in windows of 10 s {findings.number(mean)}",
        "an input: losses are independent, as the authors assume. Their warning holds: one packet per connection in two"
        " seconds shows little of a shared cause",
    )


@check("trace.sharedpaths")
def groups(evidence: Evidence, _: Claim) -> Finding:
    sizes: list[list[int]] = evidence.derived(trace().with_(NO_LOSS), "groups", _groups)
    counted = np.array([len(each) for each in sizes], dtype=float)
    return given(
        all(len(each) >= 3 and max(each) >= 5 for each in sizes),
        f"{findings.number(counted)} groups; in the first run of {', '.join(map(str, sizes[0][:10]))} connections",
        "Wilcoxon's rank-sum test on each pair, Benjamini-Hochberg at 5 % (docs/models/shared-paths.md). The paper"
        " names neither form nor level. The model puts 175 connections on 8 paths",
    )


def _groups(run: _native.Run) -> list[int]:
    found = shared_paths(_delays(run))
    return sorted((len(group) for group in found.groups if len(group) > 1), reverse=True)


def _delays(run: _native.Run) -> dict[int, Numbers]:
    """Return the delivery delay of each message in ms, by player. Paths are symmetric, so it stands for the RTT."""
    rows = columns(run, "deliveries")
    order = np.argsort(rows["player"], kind="stable")
    starts = np.searchsorted(rows["player"][order], np.arange(CONNECTIONS + 1))
    return {player: rows["delay_ms"][order[start:end]] for player, (start, end) in enumerate(pairwise(starts))}


@check("trace.continents")
def continents(evidence: Evidence, _: Claim) -> Finding:
    def least(run: _native.Run) -> list[float]:
        return [2 * float(delays.min()) for delays in _delays(run).values()]

    smallest = np.sort(evidence.derived(trace().with_(NO_LOSS), "least", least)[0])
    edges = np.flatnonzero(np.diff(smallest) > 15)
    clusters = np.split(smallest, edges + 1)
    return given(
        len(clusters) >= 3,
        f"{len(clusters)} clusters of minimum round trips: "
        + ", ".join(f"{cluster[0]:.0f} to {cluster[-1]:.0f} ms" for cluster in clusters),
        "an input: the paths are in the United States, Europe and Asia",
    )


@check("trace.c2s")
def client_to_server(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("the paper says 'very smooth' but gives no number; the generator's clients are our guess")


@check("trace.timeouts")
def timeouts(evidence: Evidence, _: Claim) -> Finding:
    slow, fast = (thin(evidence, trace(), f"{kind}_retransmissions") for kind in ("timeout", "fast"))
    share = 100 * slow / (slow + fast)
    return given(float(share.mean()) > 90, f"{findings.number(share)} % of the retransmissions by timeout")


@check("trace.nobackoff")
def no_back_off(evidence: Evidence, _: Claim) -> Finding:
    free, lossy = (thin(evidence, simplex(LOSSY).with_(change), "down.messages") for change in (NO_LOSS, {}))
    narrow = simplex().with_(NO_LOSS | {"link.down": "125kbit"})
    offered = evidence.values(narrow, f"flows.{PLAYERS}.down.sent_bytes") * 8 / TRACE_SECONDS / 1e3
    asked = evidence.values(simplex().with_(NO_LOSS), f"flows.{PLAYERS}.down.sent_bytes") * 8 / TRACE_SECONDS / 1e3
    lost = 100 * evidence.values(narrow, f"flows.{PLAYERS}.down.loss")
    return findings.all_of(
        findings.near(lossy / free, 1, 2, "of the messages get through at 5 % loss each way"),
        given(
            bool(np.all(offered > 0.95 * asked)),
            f"offered to a link of 125 kbit/s: {findings.number(offered)} of {findings.number(asked)} kbit/s,"
            f" {findings.number(lost)} % lost",
        ),
        why="each stream sends a packet every two seconds, whatever its window. Writes that share a packet reduce their"
        " number",
    )


@check("trace.cwnd")
def window(evidence: Evidence, _: Claim) -> Finding:
    def segments(run: _native.Run) -> tuple[float, float]:
        rows = columns(run, "tcp")
        windows = rows["cwnd_bytes"][(rows["side"] == "server") & (rows["srtt_ms"] > 0)] / 1448
        return float(np.median(windows)), float(windows.min())

    found = np.array(evidence.derived(simplex(LOSSY), "windows", segments), dtype=float)
    return given(
        bool(np.all(found[:, 0] <= 4) and np.all(found[:, 1] == 1)),
        f"median {findings.number(found[:, 0])} segments, least {findings.number(found[:, 1])}",
        "of four connections at 5 % each way, sampled every 100 ms",
    )


@check("trace.merge")
def merged(evidence: Evidence, _: Claim) -> Finding:
    slow = simplex(Condition(5, 300, 0))
    return findings.less(
        "packets", thin(evidence, slow, "packets"), "writes", thin(evidence, slow, "down.messages"), "",
        "at 5 %, 300 ms: writes merge while the window is one segment after a timeout",
    )  # fmt: skip


@check("trace.tcp-eq-udp")
def as_fast_as_udp(evidence: Evidence, _: Claim) -> Finding:
    tcp, udp = (
        thin(evidence, simplex().with_(NO_LOSS | change), "down.delivery_ms.mean") for change in ({}, DATAGRAMS)
    )
    return findings.near(tcp / udp, 1, 10, "of the mean delivery delay over datagrams, without loss")


@check("trace.hol")
def head_of_line(evidence: Evidence, _: Claim) -> Finding:
    held = thin(evidence, simplex(LOSSY), "down.held_ms.mean")
    tcp, udp = (thin(evidence, simplex(LOSSY).with_(change), "down.delivery_ms.p99") for change in ({}, DATAGRAMS))
    return findings.all_of(
        findings.above(held, 0, "ms on average complete and waiting behind a loss"),
        findings.less("99 % delivery delay: datagrams that repeat", udp, "TCP", tcp, "ms"),
    )


@check("trace.lag-cause")
def cause_of_lag(evidence: Evidence, _: Claim) -> Finding:
    def share(run: _native.Run) -> float:
        rows = columns(run, "retransmissions")
        late = rows["application_delay_ms"] > 1000
        return 100 * float(np.mean(rows["retransmissions"][late] > 1)) if late.any() else 100.0

    repeated = np.array(evidence.derived(simplex(), "repeated", share), dtype=float)
    twice = 100 * thin(evidence, simplex(), "nth.2.total") / thin(evidence, simplex(), "packets")
    return given(
        float(repeated.mean()) > 90,
        f"{findings.number(repeated)} % of the packets acknowledged after more than 1 s were retransmitted more than"
        f" once; of all packets it is {findings.number(twice)} %",
        f"1 %, 100 ms; a single loss costs {findings.number(retransmission_delay(evidence, simplex()))} ms",
    )


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [
        trace(),
        _bursty(),
        simplex(LOSSY).with_(NO_LOSS),
        simplex().with_(NO_LOSS),
        simplex().with_(NO_LOSS | DATAGRAMS),
        simplex(LOSSY).with_(DATAGRAMS),
        simplex().with_(NO_LOSS | {"link.down": "125kbit"}),
        simplex().with_(NO_LOSS | MULTIPLEXED),
    ]
