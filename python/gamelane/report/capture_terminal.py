"""Prints an analyzed capture on the terminal: who is to blame, lag over time, the verdict, then flows with trouble.

No line is wider than the terminal, and no address or number is cut. Without enough width for addresses, hosts have
numbers and a legend; columns that still do not fit are left out, the least important first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gamelane.report import capture_flows
from gamelane.report.capture_columns import SHOWN, digits, flow_columns, group_columns, rate_unit
from gamelane.report.capture_flows import Flow, counted, how_sure, waits
from gamelane.report.columns import Column, Hosts, filled, fitting, left_out, lines, width
from gamelane.report.sparkline import per_cell, sparkline

Document = Mapping[str, Any]

DESCRIBED = 3
"""Maximum number of games with sentences: they take several lines each, and the table has all games with trouble."""
FULL_MS = 100.0
"""Least lag of a full block: a capture without lag shall not look like one with."""
LABEL = 6
"""Width of the names of the lines over time."""


def show(found: Document, console: Console) -> None:
    """Print the blame, lag over time, the verdict, and what the flows with trouble suffered."""
    flows = capture_flows.flows(found)
    if blame := found["verdict"].get("blame"):
        _blame(blame, console)
    alone = len(found["captures"]) == 1
    if alone and _timeline(found["captures"][0], console):
        console.print()
    say(console, found["verdict"]["headline"], style="" if blame else "bold")
    _games(found, flows, console)
    for capture in found["captures"]:
        if capture["flows"]:
            console.print()
            say(console, _about(capture))
            if not alone:
                _timeline(capture, console)
    _tables(found, flows, console)


def _blame(blame: Document, console: Console) -> None:
    say(console, blame["text"], style="bold")
    if sure := how_sure(blame):
        say(console, sure)
    if blame["because"]:
        say(console, "Why:")
    for sentence in blame["because"]:
        say(console, sentence, first="  - ")
    if blame["advice"]:
        say(console, "What to try:")
    for number, sentence in enumerate(blame["advice"], 1):
        say(console, sentence, first=f"  {number}. ")
    console.print()


def _games(found: Document, flows: Sequence[Flow], console: Console) -> None:
    """Print sentences about the games with the most trouble; without trouble, about one game."""
    told = {(game["capture"], game["flow"]): game["text"] for game in found["verdict"]["games"]}
    sentences = [(flow, told[place]) for flow in flows for place in _places(flow) if place in told]
    worst = [(flow, text) for flow, text in sentences if flow.has_trouble][:DESCRIBED] or sentences[:1]
    for _, text in worst:
        say(console, text, first="  ")
    if more := len(told) - len(worst) + found["verdict"]["not_described"]:
        say(console, f"{more:,} more {'game is' if more == 1 else 'games are'} in the numbers above.", first="  ")


def _places(flow: Flow) -> Iterable[tuple[int, int]]:
    return ((number, seen["id"]) for number, seen in zip(flow.captures, flow.seen, strict=True))


def _timeline(capture: Document, console: Console) -> bool:
    """Print lag and load over time, if they are known. Each line has its own scale, and ends with its highest value."""
    timeline = capture.get("timeline")
    if not timeline or not timeline["lag_ms"]:
        return False
    rows = []
    if waited := waits(capture):
        longest = max(timeline["lag_ms"])
        rows.append(("lag", timeline["lag_ms"], max(longest, FULL_MS), f"{longest:.0f} ms" if longest else "none"))
    for direction in ("up", "down"):
        rate = timeline[f"{direction}_bps"]
        rows.append((direction, rate, max(rate), _rate(max(rate))))
    room = console.width - LABEL - 2 - max(len(text) for *_, text in rows)
    each = per_cell(timeline["lag_ms"], room)
    cells = -(-len(timeline["lag_ms"]) // each)
    for name, values, top, text in rows:
        if top:
            drawn = sparkline(values, each, top, ascii_only=console.options.ascii_only)
            line(console, f"{name:<{LABEL}}{drawn.ljust(cells)}  {text}")
    end = f"{len(timeline['lag_ms']) * timeline['step_s']:g} s"
    line(console, f"{'':{LABEL}}{'0':<{max(cells - len(end), 2)}}{end}", style="dim")
    shown = f"Longest {' '.join(waited)}, and load" if waited else "Load"
    say(
        console,
        f"{shown} of all flows, in each {each * timeline['step_s']:g} s. At the end: the highest.",
        first=" " * LABEL,
        style="dim",
    )
    return True


def _rate(bps: float) -> str:
    unit, per = rate_unit(bps)
    return f"{digits(bps / per)} {unit}"


def _about(capture: Document) -> str:
    skipped = {key: count for key, count in capture["skipped"].items() if count and key != "unsupported_link_type"}
    parts = [f"{capture['file']}: {capture['packets']:,} packets in {capture['duration_s']:.1f} s"]
    if copies := capture["set_aside"]:
        parts.append(f"{copies:,} of them copies from other interfaces or a mirror port, set aside")
    names = {"filtered": "left out by --filter"}
    parts += [f"{count:,} {names.get(key, key.replace('_', ' '))}" for key, count in skipped.items()]
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
    return ", ".join(parts)


def _tables(found: Document, flows: Sequence[Flow], console: Console) -> None:
    """Print the flows with trouble, the number of the others, and groups that may share a path."""
    troubled = [flow for flow in flows if flow.has_trouble]
    tables = [("comparison of the two captures", [flow for flow in troubled if flow.pair])]
    for number, capture in enumerate(found["captures"]):
        tables.append((_title(found, capture["file"]), [flow for flow in troubled if flow.captures == (number,)]))
    tables = [(title, of[:SHOWN]) for title, of in tables if of]
    shared = found.get("shared_paths")
    narrow = any(width(filled(flow_columns(of, str))) > console.width for _, of in tables)
    narrow = narrow or (shared is not None and width(group_columns(shared, str, None)) > console.width)
    hosts = Hosts()
    name = hosts.name if narrow else str
    missing: dict[str, None] = {}
    for title, of in tables:
        console.print()
        if title:
            say(console, title)
        missing |= dict.fromkeys(_table(filled(flow_columns(of, name)), console))
    if missing:
        say(console, f"Wider terminals also show {', '.join(missing)}.", style="dim")
    _rest(found, flows, [flow for _, of in tables for flow in of], console)
    if shared is not None:
        console.print()
        _table(group_columns(shared, name, console.width), console)
    if legend := hosts.legend(console.width):
        console.print()
        for text in legend:
            line(console, text, style="dim")


def _table(columns: Sequence[Column], console: Console) -> list[str]:
    """Print the columns that fit, and return the names of the others."""
    kept = fitting(columns, console.width)
    head, rows = lines(kept)
    for text in head:
        line(console, text, style="bold")
    for text in rows:
        line(console, text)
    return left_out(columns, kept)


def _title(found: Document, file: str) -> str:
    if found["pair"] and found["pair"]["flows"]:
        return f"only in {file}"
    return file if len(found["captures"]) > 1 else ""


def _rest(found: Document, flows: Sequence[Flow], shown: Sequence[Flow], console: Console) -> None:
    """Print the numbers of flows without a row."""
    said = []
    if further := [flow for flow in flows if flow.has_trouble and flow not in shown]:
        said.append(f"{_flows_of(len(further), 'more ')} {_show(len(further))} lag or loss: {counted(further)}.")
    if quiet := [flow for flow in flows if not flow.has_trouble]:
        said.append(
            f"{_flows_of(len(quiet), 'more ' if shown else '')} {_show(len(quiet))} no lag or loss: {counted(quiet)}. "
            + _largest(max(quiet, key=lambda flow: flow.bytes), one=len(quiet) == 1)
        )
    hidden, games = capture_flows.left_out(found)
    if hidden:
        of_them = f", {games:,} of them games, which are in the numbers above" if games else ""
        said.append(f"{_flows_of(hidden, 'more ')} with fewer packets{of_them}.")
    if said:
        console.print()
    for sentence in said:
        say(console, sentence)


def _largest(flow: Flow, *, one: bool) -> str:
    """Describe the flow with the most bytes: it may be what the games waited for."""
    size = f"{flow.bytes / 1e6:.1f} MB" if flow.bytes >= 1e5 else f"{flow.bytes / 1e3:.1f} kB"
    return f"{'It' if one else 'The largest'} has {size}: {flow.client} and {flow.server}."


def _show(number: int) -> str:
    return "shows" if number == 1 else "show"


def _flows_of(number: int, more: str) -> str:
    return f"{number:,} {more}flow{'' if number == 1 else 's'}"


def say(console: Console, text: str, *, first: str = "", style: str = "") -> None:
    """Print a sentence in the width of the terminal; further lines are indented as the first."""
    indent = cell_len(first)
    for at, part in enumerate(wrapped(text, console.width - indent, console)):
        line(console, (" " * indent if at else first) + part, style=style)


def wrapped(text: str, room: int, console: Console) -> list[str]:
    """Return the lines of a text."""
    return [part.plain.rstrip() for part in Text(text).wrap(console, max(room, 1))]


def line(console: Console, text: str, *, style: str = "") -> None:
    """Print one line as it is."""
    console.print(Text(text, style=style), no_wrap=True, crop=False, overflow="ignore")
