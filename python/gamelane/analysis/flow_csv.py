"""Flows of analyzed captures as CSV (RFC 4180): a line for each flow, with the numbers of the JSON document."""

from __future__ import annotations

import csv

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TextIO

    Document = Mapping[str, Any]

FLOW = {
    "flow": "id", "kind": "kind", "application": "application.name", "application_confidence": "application.confidence",
    "protocol": "protocol", "client": "client", "server": "server",
    "client_by": "client_by", "interface": "interface", "start_s": "start_s", "end_s": "end_s",
    "rtt_min_ms": "tcp.rtt_ms.min", "rtt_p50_ms": "tcp.rtt_ms.p50", "rtt_p95_ms": "tcp.rtt_ms.p95",
    "rtt_max_ms": "tcp.rtt_ms.max",
    "rtt_to_server_p50_ms": "tcp.rtt_to_server_ms.acknowledgements.p50",
    "rtt_to_client_p50_ms": "tcp.rtt_to_client_ms.acknowledgements.p50",
}  # fmt: skip
"""Columns of a flow, and where the JSON document has their values."""

WAY = {
    "packets": "W.packets", "bytes": "W.bytes", "payload_bytes": "W.payload_bytes",
    "mean_bps": "W.throughput_bps.mean", "peak_1s_bps": "W.throughput_bps.peak_1s",
    "gap_p50_ms": "W.gap_ms.p50", "gap_max_ms": "W.gap_ms.max",
    "tcp_data_packets": "tcp.W.data_packets", "tcp_resent_packets": "tcp.W.resent",
    "tcp_loss_estimate": "tcp.W.loss_estimate", "tcp_thin": "tcp.W.thin",
    "tcp_delay_p50_ms": "tcp.W.application_delay_ms.p50", "tcp_delay_p99_ms": "tcp.W.application_delay_ms.p99",
    "tcp_delay_max_ms": "tcp.W.application_delay_ms.max",
    "tcp_lag_ms": "tcp.W.retransmissions.*.lag_ms",
    "tcp_stalls": "tcp.W.stalls.count", "tcp_longest_stall_ms": "tcp.W.stalls.longest_ms",
    "udp_tick_ms": "udp.W.tick_ms", "udp_jitter_ms": "udp.W.jitter_ms", "udp_steady": "udp.W.steady",
    "udp_late_updates": "udp.W.late", "udp_gaps": "udp.W.gaps", "udp_longest_gap_ms": "udp.W.longest_gap_ms",
    "udp_missing_by_pace": "udp.W.missing_by_pace",
    "udp_arrived_updates": "udp.W.numbered.arrived", "udp_lost_updates": "udp.W.numbered.missing",
}  # fmt: skip
"""Columns of each direction without their prefix `up_` or `down_`. `W` stands for the direction; `*` is a sum."""

COLUMNS = {
    "capture": "",
    **FLOW,
    **{f"{way}_{name}": path.replace("W", way) for way in ("up", "down") for name, path in WAY.items()},
}
"""All columns in order. `capture` is the position of the capture, from 0."""


def write(found: Document, to: TextIO) -> None:
    """Write a header and the listed flows."""
    lines = csv.writer(to)
    lines.writerow(COLUMNS)
    lines.writerows(_lines(found))


def _lines(found: Document) -> Iterator[list[Any]]:
    paths = [path.split(".") for path in list(COLUMNS.values())[1:]]
    for number, capture in enumerate(found["captures"]):
        for flow in capture["flows"]:
            yield [number, *(_written(_value(flow, path)) for path in paths)]


def _value(of: Any, path: list[str]) -> Any:
    """Return the value at a path, or None if this flow has no such value."""
    for step, key in enumerate(path):
        if of is None:
            return None
        if key == "*":
            return sum(_value(each, path[step + 1 :]) for each in of.values())
        of = of.get(key)
    return of


def _written(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
