"""The columns of the tables that `analyze` prints: flows with trouble, and groups that may share a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gamelane.analysis.capture_facts import Way
from gamelane.report.capture_flows import Flow, called, what
from gamelane.report.columns import GAP, Column, Name, width

Document = Mapping[str, Any]

SHOWN = 20
"""Maximum number of rows in a table."""
NUMBERED = len("999:65535, ")
"""Width of one of several endpoints with numbers for hosts."""


def flow_columns(flows: Sequence[Flow], name: Name) -> list[Column]:
    """Return a row for each flow, with the columns that matter most first."""

    def column(heading: str, rank: int, cell: Callable[[Flow], str], *, number: bool = True) -> Column:
        return Column(heading, [cell(flow) for flow in flows], rank, number)

    return [
        column("flow", 3, lambda flow: "/".join(str(seen["id"]) for seen in flow.seen)),
        column("client", 0, lambda flow: name(flow.client), number=False),
        column("server", 0, lambda flow: name(flow.server), number=False),
        column("type", 3, what, number=False),
        column("name", 5, called, number=False),
        column("lag\ns", 1, lambda flow: _lag(flow) if flow.is_game else ""),
        column("lost\nup", 2, lambda flow: _lost(flow.ways["up"])),
        column("lost\ndown", 2, lambda flow: _lost(flow.ways["down"])),
        column("late\nup/down", 4, lambda flow: _both(flow, _late)),
        column("gaps\nup/down", 4, lambda flow: _both(flow, _gaps)),
        column("resent\nup/down", 6, lambda flow: _both(flow, _resent)),
        column("RTT ms\np50/p99", 7, _round_trips),
        column("delay ms\nup/down", 5, lambda flow: _both(flow, _delay)),
        column("packets\nup/down", 8, lambda flow: "/".join(str(flow.packets[way]) for way in ("up", "down"))),
    ]


def _both(flow: Flow, value: Callable[[Way], float | str | None]) -> str:
    """Return a value of both directions. One without a value is `-`; two without are empty."""
    values = [value(flow.ways[direction]) for direction in ("up", "down")]
    return "/".join("-" if of is None else str(of) for of in values) if values != [None, None] else ""


def _lag(flow: Flow) -> str:
    lags = [sum(way.lag_ms.values()) for way in flow.ways.values() if way.half]
    return digits(sum(lags) / 1000) if lags else ""


def _lost(way: Way) -> str:
    if way.lost is None:
        return "unknown" if way.pair else ""
    return "/".join(map(str, way.lost))


def _late(way: Way) -> int | None:
    return way.updates["late"] if way.updates and way.is_steady else None


def _gaps(way: Way) -> int | None:
    return way.updates["gaps"] if way.updates and way.is_steady else None


def _resent(way: Way) -> int | None:
    return way.half["resent"] if way.half else None


def _delay(way: Way) -> str | None:
    delay = way.pair["delay_above_least_ms"]["p99"] if way.pair else None
    return None if delay is None else digits(delay)


def _round_trips(flow: Flow) -> str:
    trips = flow.round_trips
    return f"{digits(trips['p50'])}/{digits(trips['p99'])}" if trips else ""


def group_columns(shared: Document, name: Name, room: int | None) -> list[Column]:
    """Return a row for each group, with as many members as there is room for."""
    groups = [
        (variant, group) for variant, verdict in shared["variants"].items() for group in verdict["groups"][:SHOWN]
    ]
    members = [[shared["connections"][at] for at in group] for _, group in groups]
    medians = [[member["rtt_ms"]["p50"] for member in of] for of in members]
    columns = [
        Column("may share\na path", [variant for variant, _ in groups]),
        Column("connections", [str(len(of)) for of in members], number=True),
        Column("median\nRTT ms", [f"{digits(min(of))} to {digits(max(of))}" for of in medians]),
    ]
    left = None if room is None else room - width(columns) - GAP
    return [*columns, Column(f"{shared['towards']}s", [_members(of, name, left) for of in members])]


def _members(of: Sequence[Document], name: Name, room: int | None) -> str:
    """Return the members of a group. Where not all fit, their number is at the end."""
    addresses = [str(member["address"]) for member in of]
    if room is not None and len(", ".join(addresses)) > room and len(of) * NUMBERED - 2 > room:
        fit = max((room - len(" and 999 more")) // NUMBERED, 1)
        return f"{', '.join(map(name, addresses[:fit]))} and {len(of) - fit} more"
    return ", ".join(map(name, addresses))


def digits(value: float) -> str:
    """Return about three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rate_unit(highest_bps: float) -> tuple[str, float]:
    """Return the unit for rates up to the highest, and how many bits per second it is."""
    return ("Mbit/s", 1e6) if highest_bps >= 1e6 else ("kbit/s", 1e3)
