"""Prints an analyzed capture on the terminal: the verdict, then a line for each flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane.analysis.capture_facts import OTHER, lag_by_cause

SHOWN = 20


def show(found: Mapping[str, Any], console: Console) -> None:
    """Print the verdict, the flows with the most packets, and what the comparison of two captures shows."""
    console.print(Text(found["verdict"]["headline"], style="bold"))
    for game in found["verdict"]["games"]:
        console.print(Text(f"  {game['text']}"))
    if more := found["verdict"]["not_described"]:
        console.print(f"  {more:,} more {'game is' if more == 1 else 'games are'} only in the numbers above.")
    for capture in found["captures"]:
        if capture["flows"]:
            console.print()
            console.print(_about(capture))
            console.print(_flows(capture, alone=not found["pair"]))
    if found["pair"] and found["pair"]["flows"]:
        console.print()
        console.print("comparison of the two captures")
        console.print(_pairs(found["pair"]))
    if "shared_paths" in found:
        console.print()
        console.print(_groups(found["shared_paths"]))


def _about(capture: Mapping[str, Any]) -> str:
    skipped = {key: count for key, count in capture["skipped"].items() if count and key != "unsupported_link_type"}
    parts = [f"{capture['file']}: {capture['packets']} packets in {capture['duration_s']:.1f} s"]
    if copies := capture["set_aside"]:
        parts.append(f"{copies} of them copies from other interfaces or a mirror port, set aside")
    parts += [f"{count} {key.replace('_', ' ')}" for key, count in skipped.items()]
    if capture["dropped_by_capture"]:
        parts.append(f"{capture['dropped_by_capture']} dropped by the recording program")
    if went_back := capture["time_went_back"]["packets"]:
        by = "once, by" if went_back == 1 else f"{went_back} times, by at most"
        parts.append(f"time went back {by} {capture['time_went_back']['furthest_ms']:.3f} ms")
    if steps := capture["clock_steps"]["count"]:
        by = "once, by" if steps == 1 else f"{steps} times, by up to"
        furthest_s = capture["clock_steps"]["furthest_ms"] / 1000
        without = "the step" if steps == 1 else "the steps"
        parts.append(f"the clock was set {by} {furthest_s:.1f} s; times continue without {without}")
    if ahead := capture["stamps_ahead"]["packets"]:
        furthest_s = capture["stamps_ahead"]["furthest_ms"] / 1000
        which = "1 timestamp" if ahead == 1 else f"{ahead} timestamps up to"
        parts.append(f"{which} {furthest_s:.1f} s ahead of the others {'was' if ahead == 1 else 'were'} corrected")
    more = capture["flows_total"] - min(len(capture["flows"]), SHOWN)
    if more > 0:
        parts.append(f"{SHOWN} of {capture['flows_total']} flows: games first, then those with the most packets")
    return ", ".join(parts)


def _flows(capture: Mapping[str, Any], *, alone: bool) -> Table:
    """Return a line for each flow. The lag of one capture is left out if two are compared: the comparison has it."""
    lag = ("lag s",) if alone else ()
    table = _table("flow", "client", "server", "what", "packets up/down", "RTT ms", "retransmitted up/down", *lag)

    def rank(flow: Mapping[str, Any]) -> tuple[bool, int]:
        return flow["kind"] == OTHER, -(flow["up"]["packets"] + flow["down"]["packets"])

    for flow in sorted(sorted(capture["flows"], key=rank)[:SHOWN], key=lambda flow: int(flow["id"])):
        tcp = flow.get("tcp")
        table.add_row(
            str(flow["id"]),
            flow["client"],
            flow["server"],
            _what(flow),
            f"{flow['up']['packets']}/{flow['down']['packets']}",
            _number(_round_trip(tcp)) if tcp else "",
            f"{tcp['up']['resent']}/{tcp['down']['resent']}" if tcp else "",
            *((_number(_lag_s(tcp)) if tcp else "",) if alone else ()),
        )
    return table


def _pairs(pair: Mapping[str, Any]) -> Table:
    table = _table("client", "server", "RTT ms p50/p99", "lost up", "lost down", "delay p99 up/down ms", "lag s")
    for flow in sorted(pair["flows"], key=lambda flow: flow["kind"] == OTHER)[:SHOWN]:
        up, down = flow["up"], flow["down"]
        lag = [way["delivery"]["late_lag_ms"] for way in (up, down) if way["delivery"]]
        table.add_row(
            flow["client"],
            flow["server"],
            f"{_number(flow['rtt_ms']['p50'])}/{_number(flow['rtt_ms']['p99'])}",
            _lost(up),
            _lost(down),
            f"{_number(up['delay_above_least_ms']['p99'])}/{_number(down['delay_above_least_ms']['p99'])}",
            _number(sum(lag) / 1000) if lag else "",
        )
    return table


def _lost(way: Mapping[str, Any]) -> str:
    return "unknown" if way["lost"] is None else f"{way['lost']}/{way['sent']}"


def _groups(shared: Mapping[str, Any]) -> Table:
    table = _table("may share a path", "connections", "median RTT ms", f"{shared['towards']}s")
    for variant, verdict in shared["variants"].items():
        for group in verdict["groups"][:SHOWN]:
            members = [shared["connections"][at] for at in group]
            medians = [member["rtt_ms"]["p50"] for member in members]
            table.add_row(
                variant,
                str(len(members)),
                f"{_number(min(medians))} to {_number(max(medians))}",
                ", ".join(str(member["address"]) for member in members),
            )
    return table


def _what(flow: Mapping[str, Any]) -> str:
    if flow["protocol"] == "udp":
        behaviour = flow["udp"]["behaviour"]
        return "UDP" if behaviour == "other" else f"UDP {behaviour}"
    thin = [way for way in ("up", "down") if flow["tcp"][way]["thin"]]
    return "TCP thin" if len(thin) == 2 else f"TCP thin {thin[0]}" if thin else "TCP"


def _round_trip(tcp: Mapping[str, Any]) -> float | None:
    whole: float | None = tcp["rtt_ms"]["p50"]
    if whole is not None:
        return whole
    halves = [tcp[f"rtt_to_{side}_ms"]["acknowledgements"]["p50"] for side in ("server", "client")]
    return max((half for half in halves if half is not None), default=None)


def _lag_s(tcp: Mapping[str, Any]) -> float:
    return sum(sum(lag_by_cause(tcp[way], None).values()) for way in ("up", "down")) / 1000


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
