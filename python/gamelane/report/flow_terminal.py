"""Prints chosen flows of an analyzed capture on the terminal, each with all that was measured.

No line is wider than the terminal, and no number is cut: the names of the measurements take more lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from gamelane.quantity import rate_unit
from gamelane.report.capture_terminal import line, say, wrapped
from gamelane.report.columns import GAP

Document = Mapping[str, Any]
Row = tuple[str, Sequence[str]]

WAYS = ("up", "down")
HEADINGS = ("to the server", "to the client")
INDENT = 2
NAME = 20
"""Least width of the names. If the numbers leave less, they stand below the names."""
CAUSES = {
    "timeout": "by timeout",
    "fast": "by fast retransmission",
    "tail-loss-probe": "by tail loss probe",
    "timeout-or-probe": "by timeout or probe",
    "unexplained": "for no visible reason",
}
KINDS = {"game": "a game", "voice": "a voice call", "thin-tcp": "thin: behaves like a game", "other": "no game"}


def show(flow: Document, console: Console) -> None:
    """Print what the flow is, then a line for each measurement with both directions."""
    line(console, "")
    say(
        console,
        f"flow {flow['id']}: {flow['protocol'].upper()} from client {flow['client']} to server {flow['server']}, "
        f"{KINDS[flow['kind']]}, from {flow['start_s']:.1f} to {flow['end_s']:.1f} s",
        style="bold",
    )
    say(console, _application(flow["application"]), first=" " * INDENT)
    for sentence in _connection(flow["tcp"]) if "tcp" in flow else ():
        say(console, sentence, first=" " * INDENT)
    measured = _tcp(flow["tcp"]) if "tcp" in flow else _udp(flow["udp"])
    _table([(name, values) for name, values in (*_any(flow), *measured) if any(values)], console)


def _application(found: Document) -> str:
    sure = {"sure": "", "likely": ", likely", "possible": ", possibly", "unknown": "unknown"}[found["confidence"]]
    return f"application: {found['name'] or ''}{sure}. {found['because']}"


def _table(rows: Sequence[Row], console: Console) -> None:
    """Print a row for each measurement. A name that needs more lines goes on below, indented further."""
    filled = [("", HEADINGS), *((name, [value or "-" for value in values]) for name, values in rows)]
    widths = [max(len(values[at]) for _, values in filled) for at in range(len(HEADINGS))]
    longest = max(INDENT + len(name) for name, _ in filled)
    room = min(longest, console.width - sum(widths) - GAP * len(widths))
    is_beside = room >= NAME
    for name, (up, down) in filled:
        numbers = f"{up:<{widths[0]}}{'':{GAP}}{down}"
        own = INDENT + len(name) - len(name.lstrip())
        first, *rest = wrapped(name.lstrip(), (room if is_beside else console.width) - own, console) or [""]
        if is_beside or not name:
            line(console, f"{'':{own}}{first}".ljust(room if is_beside else INDENT) + f"{'':{GAP}}{numbers}")
        else:
            line(console, f"{'':{own}}{first}")
        for part in rest:
            line(console, f"{'':{own + INDENT}}{part}")
        if name and not is_beside:
            line(console, f"{'':{INDENT + GAP}}{numbers}")


def _connection(tcp: Document) -> Iterator[str]:
    trip = tcp["rtt_ms"]
    if trip["count"]:
        yield f"round trip: {_quantiles(trip, 'min', 'p50', 'p95', 'p99', 'max')} ms (least, p50, p95, p99, longest)"
    shake = tcp["handshake_rtt_ms"]
    if shake["to_server"] is not None and shake["to_client"] is not None:
        yield (
            f"round trip of the handshake: {_number(shake['to_server'])} ms to the server, "
            f"{_number(shake['to_client'])} ms to the client"
        )
    yield f"{'SACK' if tcp['sack'] else 'no SACK'}, {tcp['end'].replace('-', ' ')} at the end"


def _any(flow: Document) -> Iterator[Row]:
    ways = [flow[way] for way in WAYS]
    yield "packets", [f"{way['packets']:,}" for way in ways]
    yield "bytes", [f"{way['bytes']:,}" for way in ways]
    unit, per = rate_unit(max(way["throughput_bps"]["peak_1s"] for way in ways))
    yield f"{unit}, mean and highest of 1 s", [_rates(way["throughput_bps"], per) for way in ways]
    yield "payload bytes, p50 and most", [_quantiles(way["payload_size_bytes"], "p50", "max") for way in ways]
    yield "ms from payload to payload, p50, p99, most", [_quantiles(way["gap_ms"], "p50", "p99", "max") for way in ways]
    yield "fragments", [_count(way["fragments"]) for way in ways]
    yield "duplicates", [_count(way["duplicates"]) for way in ways]
    yield "DSCP", [", ".join(sorted(way["dscp"], key=int)) if any(map(int, way["dscp"])) else "" for way in ways]
    yield "packets marked CE", [_count(way["ecn"]["ce"]) for way in ways]


def _tcp(tcp: Document) -> Iterator[Row]:
    ways = [tcp[way] for way in WAYS]
    yield "packets with data", [_count(way["data_packets"]) for way in ways]
    yield "retransmitted", [_count(way["resent"]) for way in ways]
    for cause, name in CAUSES.items():
        by_cause = [way["retransmissions"][cause] for way in ways]
        yield (
            f"  {name}",
            [f"{of['count']:,}, lag {of['lag_ms'] / 1000:.1f} s" if of["count"] else "" for of in by_cause],
        )
    yield "loss, estimated", [f"{100 * way['loss_estimate']:.2f} %" if way["loss_estimate"] else "" for way in ways]
    yield (
        "ms until the ACK, p50, p99, longest",
        [_quantiles(way["application_delay_ms"], "p50", "p99", "max") for way in ways],
    )
    stalls = [way["stalls"] for way in ways]
    yield "stalls", [f"{of['count']:,}, longest {_number(of['longest_ms'])} ms" if of["count"] else "" for of in stalls]
    yield "held up behind a lost packet", [_count(way["held_up"]) for way in ways]
    yield "packets in flight, p50, p95", [_quantiles(way["packets_in_flight"], "p50", "p95") for way in ways]
    yield (
        "window closed, seconds",
        [_number(way["zero_windows"]["seconds"]) if way["zero_windows"]["count"] else "" for way in ways],
    )
    yield "delayed ACKs", [_count(way["delayed_acks"]["count"]) for way in ways]


def _udp(udp: Document) -> Iterator[Row]:
    ways = [udp[way] for way in WAYS]

    def row(name: str, value: Any) -> Row:
        return name, [value(way) if way else "" for way in ways]

    def numbered(key: str) -> Any:
        return lambda way: f"{way['numbered'][key]:,}" if way["numbered"] else ""

    yield row("ms from update to update (tick)", lambda way: _number(way["tick_ms"]))
    yield row("ms of jitter", lambda way: _number(way["mean_jitter_ms"]))
    yield row("updates by their numbers", numbered("arrived"))
    yield row("lost by their numbers", numbered("missing"))
    yield row("pace", lambda way: "steady" if way["steady"] else "not steady")
    yield row("late by more than half a tick", lambda way: f"{way['late']:,}" if way["steady"] else "")
    yield row("gaps", lambda way: f"{way['gaps']:,}" if way["steady"] else "")
    yield row("ms of the longest gap", lambda way: _number(way["longest_gap_ms"]))


def _rates(of: Document, per: float) -> str:
    return "" if of["mean"] is None else f"{of['mean'] / per:.1f}, {of['peak_1s'] / per:.1f}"


def _quantiles(of: Document, *names: str) -> str:
    return ", ".join(_number(of[name]) for name in names) if of["count"] else ""


def _count(count: int) -> str:
    return f"{count:,}" if count else ""


def _number(value: float) -> str:
    return (
        f"{value:.0f}" if value >= 100 or value == round(value) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    )
