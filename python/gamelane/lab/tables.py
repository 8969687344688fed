"""What the lab saw as the columns a simulation gives: `gamelane.records.frames` makes tables of them (docs/records.md).

Times are nanoseconds from the start of the run. Packets sent after its end are left out; those that still wait then are
neither received nor lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gamelane import quantity
from gamelane.lab import bulk
from gamelane.lab.plan import DIRECTIONS, Flow, Plan
from gamelane.lab.reports import Report
from gamelane.lab.sampler import CLIENT, Samples
from gamelane.lab.sockdiag import TcpState
from gamelane.lab.taps import NOWHERE, Passage
from gamelane.records.frames import REASONS, TABLES

CONNECTIONS = 4
"""Of a flow, in the table `tcp`."""
SECOND_NS = 1_000_000_000
Columns = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Fate:
    """A passage, times from the start of the run, and what became of it: `reason` only of a packet that was lost."""

    passage: Passage
    flow: int
    sent_ns: int
    arrived_ns: int | None
    queue_ns: int
    reason: int | None
    lost_ns: int = 0


@dataclass(frozen=True)
class Seen:
    """All there is to make tables of."""

    plan: Plan
    fates: list[Fate]
    samples: Samples
    reports: list[Report]
    began_monotonic_ns: int
    goodput: dict[int, int]
    """Bytes delivered to applications, by flow."""


def fates(plan: Plan, passages: Sequence[Sequence[Passage]], samples: Samples, began_ns: int) -> list[Fate]:
    """Say of each packet of the run what became of it; `began_ns` is Unix time."""
    found = []
    end_ns = round(plan.duration_s * SECOND_NS)
    for flow in plan.flows:
        reasons = {up: _reasons(samples, flow.number, up) for up in (True, False)}
        for passage in passages[flow.number]:
            sent = passage.sent_ns - began_ns
            if not 0 <= sent < end_ns or not _is_own(flow, passage):
                continue
            reason, lost_at = None, 0
            if passage.arrived_ns == NOWHERE and passage.out_ns < began_ns + end_ns:
                reason, lost_at = _lost(flow, passage, reasons[passage.up])
            arrived = passage.arrived_ns - began_ns
            found.append(
                Fate(
                    passage=passage,
                    flow=flow.number,
                    sent_ns=sent,
                    arrived_ns=arrived if passage.arrived_ns != NOWHERE and arrived < end_ns else None,
                    queue_ns=max(passage.out_ns - passage.into_ns, 0) if passage.into_ns != NOWHERE else 0,
                    reason=reason,
                    lost_ns=lost_at - began_ns,
                )
            )
    return found


def _is_own(flow: Flow, passage: Passage) -> bool:
    """Whether it is of the application's connection; iperf3 has another one, to control it."""
    if flow.app != "bulk" or passage.tcp is None:
        return True
    return passage.tcp[0 if passage.up else 1] == bulk.port(flow)


def _reasons(samples: Samples, flow: int, up: bool) -> list[int]:
    """Reasons of a flow's drops one way, oldest first, as the gateway counted them."""
    found = []
    for _, direction, dropped, reason, count in samples.drops:
        if dropped == flow and (direction == 0) == up:
            found += [REASONS.index(reason) if reason in REASONS else REASONS.index("tail")] * count
    return found


def _lost(flow: Flow, passage: Passage, reasons: list[int]) -> tuple[int | None, int]:
    """Say where a packet that did not arrive was lost: before the gateway, in it, or behind it.

    The gateway tells drops by flow, so each takes the next reason; a packet that nobody dropped still waits.
    """
    if passage.into_ns == NOWHERE:
        return REASONS.index("path"), passage.sent_ns
    if passage.out_ns == NOWHERE:
        return (reasons.pop(0) if reasons else None), passage.into_ns
    path_loses = passage.up and flow.path.owner
    return REASONS.index("path" if path_loses else "link"), passage.out_ns


def goodput(of: Iterable[Fate], *, warmup_ns: int) -> dict[int, int]:
    """Bytes delivered after the warm-up: UDP's as they came, TCP's as far as they were acknowledged, each way."""
    total: dict[int, int] = defaultdict(int)
    acknowledged: dict[tuple[int, bool, int, int], int] = {}
    for fate in of:
        passage = fate.passage
        if passage.tcp is None:
            counts = fate.arrived_ns is not None and fate.arrived_ns >= warmup_ns
            total[fate.flow] += passage.length - UDP_HEADERS if counts else 0
            continue
        source, destination, flags, number, _ = passage.tcp
        if not flags & ACK or flags & RST:
            continue
        key = (fate.flow, passage.up, source, destination)
        before = acknowledged.get(key)
        step = 0 if before is None else (number - before) & 0xFFFF_FFFF
        if before is None or step < 1 << 31:
            acknowledged[key] = number
            total[fate.flow] += step if fate.sent_ns >= warmup_ns else 0
    return dict(total)


def columns(seen: Seen) -> dict[str, Columns]:
    """Return the native columns of every table."""
    return {
        **{table: _empty(table) for table in TABLES},
        "rtt": _rtt(seen),
        "delay": _delay(seen),
        "windows": _windows(seen),
        "drops": _drops(seen),
        "tcp": _tcp(seen),
        "queues": _queues(seen),
        "rates": _rates(seen),
        "app": _app(seen),
    }


def _rtt(seen: Seen) -> Columns:
    """Synthetic packet pairs, as a simulation makes them: a packet up, and the first back after it arrived."""
    flows, at, took = [], [], []
    for flow in seen.plan.flows:
        own = [fate for fate in seen.fates if fate.flow == flow.number and fate.arrived_ns is not None]
        ups = sorted((fate for fate in own if fate.passage.up), key=lambda fate: fate.arrived_ns or 0)
        downs = sorted((fate for fate in own if not fate.passage.up), key=lambda fate: fate.sent_ns)
        reached = np.array([fate.arrived_ns for fate in ups], dtype=np.int64)
        last = 0
        for fate in downs:
            place = int(np.searchsorted(reached, fate.sent_ns, side="right"))
            if place > last and fate.arrived_ns is not None:
                last = place
                up = ups[place - 1]
                flows.append(flow.number)
                at.append(fate.arrived_ns)
                took.append((up.arrived_ns or 0) - up.sent_ns + fate.arrived_ns - fate.sent_ns)
    order = np.argsort(np.array(at, dtype=np.int64), kind="stable")
    return {"flow": _u(flows)[order], "t_ns": _i(at)[order], "rtt_ns": _i(took)[order]}


def _delay(seen: Seen) -> Columns:
    own = sorted((fate for fate in seen.fates if fate.arrived_ns is not None), key=lambda fate: fate.arrived_ns or 0)
    arrived = _i([fate.arrived_ns or 0 for fate in own])
    return {
        "flow": _u([fate.flow for fate in own]),
        "direction": _u([0 if fate.passage.up else 1 for fate in own]),
        "t_ns": arrived,
        "queue_delay_ns": _i([fate.queue_ns for fate in own]),
        "one_way_ns": arrived - _i([fate.sent_ns for fate in own]),
    }


def _windows(seen: Seen) -> Columns:
    length = int(np.ceil(seen.plan.duration_s))
    counts = np.zeros((len(seen.plan.flows), 2, 5, length), dtype=np.uint64)
    place = {flow.number: at for at, flow in enumerate(seen.plan.flows)}
    for fate in seen.fates:
        own = counts[place[fate.flow], 0 if fate.passage.up else 1]
        sent = fate.sent_ns // SECOND_NS
        own[0, sent] += 1
        if fate.arrived_ns is not None:
            then = min(fate.arrived_ns // SECOND_NS, length - 1)
            own[1, then] += 1
            own[3, then] += int(fate.passage.marked)
            own[4, then] += fate.passage.length
        own[2, sent] += int(fate.reason is not None)
    rows = [(flow.number, way, second) for flow in seen.plan.flows for way in (0, 1) for second in range(length)]
    named = enumerate(("sent", "received", "lost", "marked", "bytes"))
    by = {name: counts[:, :, at, :].reshape(-1) for at, name in named}
    return {
        "flow": _u([row[0] for row in rows]),
        "direction": _u([row[1] for row in rows]),
        "t_ns": _i([row[2] * SECOND_NS for row in rows]),
        **{name: by[name].astype(np.uint32) for name in ("sent", "received", "lost", "marked")},
        "bytes": by["bytes"],
    }


def _drops(seen: Seen) -> Columns:
    own = sorted((fate for fate in seen.fates if fate.reason is not None), key=lambda fate: fate.lost_ns)
    return {
        "t_ns": _i([fate.lost_ns for fate in own]),
        "flow": _u([fate.flow for fate in own]),
        "direction": _u([0 if fate.passage.up else 1 for fate in own]),
        "reason": _u([fate.reason or 0 for fate in own]),
    }


def tcp_samples(seen: Seen) -> list[tuple[int, int, int, int, TcpState]]:
    """Time, flow, connection, side and state, of the applications' connections in the order they appeared."""
    flows = {flow.number: flow for flow in seen.plan.flows}
    known: dict[int, list[int]] = defaultdict(list)
    rows = []
    for at, number, side, state in seen.samples.tcp:
        flow = flows[number]
        port = state.local_port if side == CLIENT else state.remote_port
        if flow.app == "bulk" and port != bulk.port(flow):
            continue
        if port not in known[number]:
            known[number].append(port)
        t_ns = at - seen.began_monotonic_ns
        if 0 <= t_ns <= seen.plan.duration_s * SECOND_NS:
            rows.append((t_ns, number, known[number].index(port), side, state))
    return rows


def _tcp(seen: Seen) -> Columns:
    rows = [row for row in tcp_samples(seen) if row[2] < CONNECTIONS]
    states = [row[4] for row in rows]
    return {
        "t_ns": _i([row[0] for row in rows]),
        "flow": _u([row[1] for row in rows]),
        "connection": _u([row[2] for row in rows]),
        "side": _u([row[3] for row in rows]),
        "cwnd_bytes": _big([state.cwnd_bytes for state in states]),
        "ssthresh_bytes": _big([state.ssthresh_bytes for state in states]),
        "srtt_ns": _big([state.srtt_ns for state in states]),
        "rto_ns": _big([state.rto_ns for state in states]),
        "in_flight_bytes": _big([state.in_flight_bytes for state in states]),
    }


def _queues(seen: Seen) -> Columns:
    end_ns = seen.plan.duration_s * SECOND_NS
    own = [row for row in seen.samples.queues if 0 <= row[0] - seen.began_monotonic_ns <= end_ns]
    return {
        "t_ns": _i([row[0] - seen.began_monotonic_ns for row in own]),
        "direction": _u([row[1] for row in own]),
        "packets": _u([row[2] for row in own]),
        "bytes": _big([row[3] for row in own]),
    }


def _rates(seen: Seen) -> Columns:
    end_ns = seen.plan.duration_s * SECOND_NS
    own = [row for row in seen.samples.rates if 0 <= row[0] - seen.began_monotonic_ns <= end_ns]
    links = [round(quantity.parse(seen.plan.link[direction], "bit/s") or 0) for direction in DIRECTIONS]
    return {
        "t_ns": _i([row[0] - seen.began_monotonic_ns for row in own]),
        "direction": _u([row[1] for row in own]),
        "shaped_bps": _big([row[2] for row in own]),
        "link_bps": _big([links[row[1]] for row in own]),
    }


def _app(seen: Seen) -> Columns:
    end_ns = (seen.plan.duration_s + SLACK_S) * SECOND_NS
    own = [of for of in seen.reports if of.at_ns - seen.began_monotonic_ns <= end_ns]
    return {
        "t_ns": _i([of.at_ns - seen.began_monotonic_ns for of in own]),
        "flow": _u([of.flow for of in own]),
        "kind": _u([of.kind for of in own]),
        "index": _u([of.index for of in own]),
        "bytes": _big([of.bytes for of in own]),
        "took_ns": _i([of.took_ns for of in own]),
    }


def _empty(table: str) -> Columns:
    types: dict[str, Any] = {"retransmissions": np.uint16, "itself": np.uint16, "included": np.uint16}
    found: Columns = {}
    for column in TABLES[table]:
        name = column.removesuffix("_ms") + "_ns" if column.endswith("_ms") else column
        name = name.removesuffix("_s") + "_ns" if name.endswith("_s") else name
        found[name] = np.array([], dtype=types.get(column, np.uint32))
    return found


def _u(values: Sequence[int]) -> npt.NDArray[np.uint32]:
    return np.array(values, dtype=np.uint32)


def _i(values: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _big(values: Sequence[int]) -> npt.NDArray[np.uint64]:
    return np.array(values, dtype=np.uint64)


UDP_HEADERS = 28
ACK, RST = 0x10, 0x04
SLACK_S = 0.5
"""What stops at the end is reported a little after it."""
