"""An element of `runs` in docs/json-schema.md, of a run of the lab."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gamelane.lab.plan import DATAGRAMS, DIRECTIONS, Flow
from gamelane.lab.reports import CHUNK, STALL, TRANSFER
from gamelane.lab.tables import SECOND_NS, Columns, Fate, Seen, tcp_samples

QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
Floats = npt.NDArray[np.float64]


def summary(seen: Seen, tables: dict[str, Columns], *, seed: int) -> dict[str, Any]:
    """Of packets sent after the scenario's warm-up, as simulated."""
    run = {
        "seed": seed,
        "flows": {flow.name: _flow(seen, tables, flow) for flow in seen.plan.flows},
        "queues": {direction: _queue(seen, tables, at) for at, direction in enumerate(DIRECTIONS)},
    }
    follows = seen.samples.last["autorate"]
    if follows:
        run["autorate"] = {direction: _follower(seen, direction, own) for direction, own in follows.items()}
    return run


def _flow(seen: Seen, tables: dict[str, Columns], flow: Flow) -> dict[str, Any]:
    warmup_ns = seen.plan.warmup_s * SECOND_NS
    own = tables["rtt"]
    measured = (own["flow"] == flow.number) & (own["t_ns"].astype(np.int64) >= warmup_ns)
    rtts = own["rtt_ns"][measured].astype(np.float64) / 1e6
    active_s = flow.stop_s - max(flow.start_s, seen.plan.warmup_s)
    reports = [report for report in seen.reports if report.flow == flow.number]
    began = seen.began_monotonic_ns
    transfers = [
        of.took_ns / 1e6 for of in reports if of.kind == TRANSFER and of.at_ns - began >= warmup_ns + of.took_ns
    ]
    resent = {
        (connection, side): state.retransmissions
        for _, number, connection, side, state in tcp_samples(seen)
        if number == flow.number
    }
    return {
        "app": flow.app,
        **{direction: _direction(seen, tables, flow, at) for at, direction in enumerate(DIRECTIONS)},
        "rtt_ms": distribution(rtts),
        "rtt_deviation_ms": float(np.abs(rtts - rtts.mean()).mean()) if len(rtts) else 0.0,
        "rtt_samples": len(rtts),
        "goodput_bps": seen.goodput.get(flow.number, 0) * 8 / active_s if active_s > 0 else 0.0,
        "retransmissions": sum(resent.values()),
        "chunks": sum(of.kind == CHUNK for of in reports),
        "stall_seconds": sum(of.took_ns for of in reports if of.kind == STALL) / 1e9,
        "transfers": len(transfers),
        "transfer_ms": distribution(np.array(transfers)),
    }


def _direction(seen: Seen, tables: dict[str, Columns], flow: Flow, at: int) -> dict[str, Any]:
    warmup_ns = seen.plan.warmup_s * SECOND_NS
    own = [
        fate
        for fate in seen.fates
        if fate.flow == flow.number and fate.passage.up == (at == 0) and fate.sent_ns >= warmup_ns
    ]
    arrived = sorted((fate for fate in own if fate.arrived_ns is not None), key=lambda fate: fate.arrived_ns or 0)
    lost = sum(fate.reason is not None for fate in own)
    windows = tables["windows"]
    chosen = (windows["flow"] == flow.number) & (windows["direction"] == at)
    first = int(np.ceil(max(flow.start_s, seen.plan.warmup_s)))
    rates = windows["bytes"][chosen].astype(np.float64)[first : max(int(flow.stop_s), first)] * 8
    mean = float(rates.mean()) if len(rates) else 0.0
    return {
        "sent": len(own),
        "sent_bytes": sum(fate.passage.length for fate in own),
        "received": len(arrived),
        "lost": lost,
        "marked": sum(fate.passage.marked for fate in arrived),
        "loss": lost / len(own) if own else 0.0,
        "throughput_bps": {"mean": mean, "cv": float(rates.std()) / mean if mean else 0.0},
        "queue_delay_ms": distribution(np.array([fate.queue_ns for fate in arrived]) / 1e6),
        "jitter_ms": distribution(_jitter(arrived) if flow.app in DATAGRAMS else np.array([])),
    }


def _jitter(arrived: list[Fate]) -> Floats:
    """RFC 3550's running estimate after each packet."""
    transit = np.array([(fate.arrived_ns or 0) - fate.sent_ns for fate in arrived], dtype=np.float64)
    estimate, estimates = 0.0, []
    for change in np.abs(np.diff(transit)):
        estimate += (change - estimate) / 16
        estimates.append(estimate)
    return np.array(estimates) / 1e6


def _queue(seen: Seen, tables: dict[str, Columns], at: int) -> dict[str, Any]:
    """The gateway's own counters, of the whole run."""
    queue = seen.samples.last["queues"][DIRECTIONS[at]]
    reasons = queue["drop_reasons"]
    waiting = tables["queues"]["packets"][tables["queues"]["direction"] == at].astype(np.float64)
    lost = tables["drops"]
    return {
        "packets": queue["arrived"],
        "drops": {
            "tail": reasons.get("tail", 0),
            "overlimit": reasons.get("overlimit", 0),
            "aqm": reasons.get("aqm-enqueue", 0) + reasons.get("aqm-dequeue", 0),
            "ack_filter": reasons.get("ack-filter", 0),
            "link": int(((lost["reason"] == LINK) & (lost["direction"] == at)).sum()),
        },
        "marks": queue["ecn_mark"],
        "backlog_packets": {"mean": float(waiting.mean()) if len(waiting) else 0.0, "max": queue["peak_qlen"]},
    }


def _follower(seen: Seen, direction: str, own: dict[str, Any]) -> dict[str, Any]:
    """A shaper that follows its link, of the whole run."""
    rates = [rate for _, at, rate in seen.samples.rates if DIRECTIONS[at] == direction]
    return {
        "rate_bps": {"mean": float(np.mean(rates)), "last": own["rate_bps"]},
        "signals": own["signals"],
        "probes": 0,
        "lowered": own["lowered"],
        "raised": own["raised"],
        "windows": own["windows"],
        "unheard": own["windows_unheard"],
    }


def distribution(values: npt.NDArray[Any]) -> dict[str, float | None]:
    """Mean, quantiles and largest; nothing of nothing."""
    if not len(values):
        return dict.fromkeys(("mean", *QUANTILES, "max"))
    quantiles = {key: float(np.quantile(values, share)) for key, share in QUANTILES.items()}
    return {"mean": float(values.mean()), **quantiles, "max": float(values.max())}


LINK = 4
"""Place of `link` among the reasons of docs/records.md."""
