"""Hands the observations of a lab run to the recorder, which makes the tables and the summary (docs/records.md).

Times are nanoseconds from the start of the run. Packets sent after its end are left out. Packets on the way at the end
are followed until the captures end, as the simulator follows them. Those that still wait then are neither received nor
lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gamelane import _native, quantity
from gamelane.lab import connections, games
from gamelane.lab.connections import Numbers
from gamelane.lab.observed import Observed
from gamelane.lab.plan import DIRECTIONS, Flow, Plan
from gamelane.lab.sampler import ANY, CLIENT, SIDES, Samples
from gamelane.lab.sockdiag import TcpState
from gamelane.lab.taps import NOWHERE, Passage

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Fate:
    """A packet with times from the start of the run. `reason` is set if it was lost."""

    passage: Passage
    flow: int
    sent_ns: int
    arrived_ns: int | None
    queue_ns: int
    reason: str | None
    lost_ns: int = 0


@dataclass(frozen=True)
class Seen:
    """Input of the recorder. `folder` has the record files that `observed` names."""

    plan: Plan
    fates: list[Fate]
    observed: Observed
    folder: Path

    @property
    def samples(self) -> Samples:
        """Samples of gateway and TCP."""
        return self.observed.samples

    @property
    def began_ns(self) -> int:
        """Start of the run, monotonic clock."""
        return self.observed.began_monotonic_ns


def fates(plan: Plan, passages: Sequence[Sequence[Passage]], samples: Samples, began_ns: int) -> list[Fate]:
    """Decide for each packet of the run whether it arrived or was lost, and where. `began_ns` is Unix time."""
    found = []
    end_ns = round(plan.duration_s * SECOND_NS)
    reasons = Reasons(samples)
    every = [(flow, passage) for flow in plan.flows for passage in passages[flow.number]]
    every.sort(key=lambda entry: entry[1].into_ns)
    for flow, passage in every:
        sent = passage.sent_ns - began_ns
        if not 0 <= sent < end_ns:
            continue
        reason, lost_at = None, 0
        if passage.arrived_ns == NOWHERE and passage.out_ns < began_ns + end_ns + FOLLOWED_NS:
            reason, lost_at = _lost(flow, passage, reasons)
        arrived = passage.arrived_ns - began_ns
        found.append(
            Fate(
                passage=passage,
                flow=flow.number,
                sent_ns=sent,
                arrived_ns=arrived if passage.arrived_ns != NOWHERE else None,
                queue_ns=max(passage.out_ns - passage.into_ns, 0) if passage.into_ns != NOWHERE else 0,
                reason=reason,
                lost_ns=lost_at - began_ns,
            )
        )
    return sorted(found, key=lambda fate: (fate.flow, fate.sent_ns))


class Reasons:
    """Reasons of drops, oldest first: of each flow, or of the whole queue if the gateway does not count flows."""

    def __init__(self, samples: Samples) -> None:
        """Sort the drops by flow and direction."""
        self._left: dict[tuple[int, bool], deque[str]] = defaultdict(deque)
        for _, direction, flow, reason, count in samples.drops:
            self._left[flow, direction == 0].extend([reason] * count)

    def next(self, flow: int, *, up: bool) -> str | None:
        """Take the reason of the next packet that did not leave; None if no drop is left, so it still waits."""
        for key in ((flow, up), (ANY, up)):
            if self._left[key]:
                return self._left[key].popleft()
        return None


def _lost(flow: Flow, passage: Passage, reasons: Reasons) -> tuple[str | None, int]:
    """Return reason and time of a loss: before the gateway, in it, or behind it."""
    if passage.into_ns == NOWHERE:
        return "path", passage.sent_ns
    if passage.out_ns == NOWHERE:
        return reasons.next(flow.number, up=passage.up), passage.into_ns
    path_loses = passage.up and flow.path.owner
    return ("path" if path_loses else "link"), passage.out_ns


def goodput(of: Iterable[Fate]) -> Iterator[tuple[int, int, int]]:
    """Yield flow, time and bytes delivered to applications: of UDP at arrival, of TCP at the acknowledgement."""
    acknowledged: dict[tuple[int, bool, int, int], int] = {}
    for fate in of:
        passage = fate.passage
        if passage.tcp is None:
            if fate.arrived_ns is not None:
                yield fate.flow, fate.arrived_ns, passage.length - HEADERS
            continue
        source, destination, flags, number, *_ = passage.tcp
        if not flags & ACK or flags & RST:
            continue
        key = (fate.flow, passage.up, source, destination)
        before = acknowledged.get(key)
        step = 0 if before is None else (number - before) & 0xFFFF_FFFF
        if before is None or step < 1 << 31:
            acknowledged[key] = number
            yield fate.flow, fate.sent_ns, step


def record(scenario: _native.Scenario, seen: Seen) -> _native.Recording:
    """Hand all observations to a new recorder."""
    recording = _native.Recording(scenario)
    known = connections.numbers(seen)
    _packets(recording, seen, known)
    for flow, at_ns, delivered in goodput(seen.fates):
        recording.goodput(flow, at_ns, delivered)
    for flow, name in seen.observed.echoes.items():
        recording.echoes(flow, str(seen.folder / name), seen.began_ns)
    games.hand_over(recording, seen, known)
    _tcp(recording, seen, known)
    _gateway(recording, seen)
    end_ns = (seen.plan.duration_s + SLACK_S) * SECOND_NS
    for report in seen.observed.reports:
        at_ns = report.at_ns - seen.began_ns
        if at_ns <= end_ns:
            recording.app(report.flow, report.kind, at_ns, report.index, report.bytes, report.took_ns)
    return recording


def _packets(recording: _native.Recording, seen: Seen, known: Numbers) -> None:
    for flow in seen.plan.flows:
        for direction in DIRECTIONS:
            own = [of for of in seen.fates if of.flow == flow.number and of.passage.up == (direction == "up")]
            recording.packets(
                flow.number,
                direction,
                connections.of_packets(known, own),
                np.array([fate.sent_ns for fate in own], dtype=np.int64),
                np.array([-1 if fate.arrived_ns is None else fate.arrived_ns for fate in own], dtype=np.int64),
                np.array([fate.queue_ns for fate in own], dtype=np.int64),
                np.array([fate.passage.length for fate in own], dtype=np.uint32),
                np.array([fate.passage.marked and fate.arrived_ns is not None for fate in own], dtype=np.bool_),
            )
            for fate in own:
                if fate.reason is not None:
                    recording.drop(flow.number, direction, fate.sent_ns, fate.lost_ns, fate.passage.length, fate.reason)


def _tcp(recording: _native.Recording, seen: Seen, known: Numbers) -> None:
    """Hand over TCP state of the first connections of each flow, and retransmitted segments of all connections."""
    for t_ns, flow, connection, side, state in tcp_samples(seen, known):
        recording.tcp(
            flow,
            connection,
            SIDES[side],
            t_ns,
            state.cwnd_bytes,
            state.ssthresh_bytes if state.ssthresh_bytes < UNBOUNDED else None,
            state.srtt_ns or None,
            state.rto_ns,
            state.in_flight_bytes,
        )
    resent: Counter[int] = Counter()
    for flow, segments in seen.samples.retransmissions:
        resent[flow] += segments
    for flow, segments in resent.items():
        recording.retransmissions(flow, segments)


def tcp_samples(seen: Seen, known: Numbers) -> Iterator[tuple[int, int, int, int, TcpState]]:
    """Yield time, flow, connection, side and state.

    Connections that `known` does not number are numbered in order of appearance.
    """
    all_known: dict[int, dict[int, int]] = {}
    for at, flow, side, state in seen.samples.tcp:
        port = state.local_port if side == CLIENT else state.remote_port
        own = all_known.setdefault(flow, dict(known.get(flow, {})))
        number = own.setdefault(port, len(own))
        t_ns = at - seen.began_ns
        if 0 <= t_ns <= seen.plan.duration_s * SECOND_NS:
            yield t_ns, flow, number, side, state


def _gateway(recording: _native.Recording, seen: Seen) -> None:
    """Hand over samples and counters of the gateway's queues and of shapers that follow their link."""
    end_ns = seen.plan.duration_s * SECOND_NS
    began = seen.began_ns
    for at, way, packets, waiting in seen.samples.queues:
        if 0 <= at - began <= end_ns:
            recording.backlog(DIRECTIONS[way], at - began, packets, waiting)
    links = [round(quantity.parse(seen.plan.link[direction], "bit/s") or 0) for direction in DIRECTIONS]
    for at, way, rate_bps in seen.samples.rates:
        if 0 <= at - began <= end_ns:
            recording.rate(DIRECTIONS[way], at - began, rate_bps, links[way])
    for direction in DIRECTIONS:
        queue = seen.samples.last["queues"][direction]
        up = direction == "up"
        behind = sum(fate.reason == "link" and fate.passage.up == up for fate in seen.fates)
        drops = [*queue["drop_reasons"].items(), ("link", behind)]
        recording.queue(direction, queue["arrived"], drops, queue["ecn_mark"], queue["peak_qlen"])
    for direction, own in (seen.samples.last["autorate"] or {}).items():
        recording.follower(
            direction,
            own["rate_bps"],
            own["signals"],
            own["lowered"],
            own["raised"],
            own["windows"],
            own["windows_unheard"],
        )


HEADERS = _native.IPV4_HEADER + _native.UDP_HEADER
ACK, RST = 0x10, 0x04
UNBOUNDED = 2**32
"""At or above this value, the slow start threshold of the kernel is not set yet."""
FOLLOWED_NS = SECOND_NS
"""A packet that left the gateway this long after the end, and did not arrive, is lost: the captures end later."""
SLACK_S = 0.5
"""Applications that stop at the end of the run report this much later at most."""
