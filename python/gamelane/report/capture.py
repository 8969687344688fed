"""Renders the report of analyzed captures as one page that opens offline: the blame, plots over time, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from markupsafe import Markup

from gamelane.analysis import capture_facts
from gamelane.analysis.capture_paths import Found
from gamelane.analysis.ecdf import curve
from gamelane.plot.style import DIRECTIONS, OTHERS
from gamelane.report import capture_flows, capture_games, capture_plots, pages, shared_paths
from gamelane.report.capture_flows import Flow
from gamelane.report.figures import Figure, Key, Panel
from gamelane.report.series import inline

DRAWN = 6
"""Maximum number of flows in one plot."""
HOW_TO_ZOOM = (
    "Click into a plot, then zoom with the wheel and move by dragging; a double click shows all. "
    "All plots of a capture show the same time."
)


def page(folder: Path, found: Mapping[str, Any], tested: Found | None = None) -> str:
    """Return the page, with plots of the tables in `folder`. `tested` adds shared paths."""
    flows = capture_flows.flows(found)
    games = [flow for flow in flows if flow.is_game]
    tcp = capture_games.rows(games)
    delays = _delays(folder, [flow for flow in flows if flow.seen[0]["protocol"] == "tcp"][:DRAWN])
    captures = found["captures"]
    timelines = [(number, spec) for number, of in enumerate(captures) if (spec := capture_plots.timeline(of))]
    picked = capture_plots.picked(folder, found, flows)
    over_time = {
        "timelines": [{"capture": number, "spec": spec} for number, spec in timelines],
        "flows": [{"capture": of.capture, "spec": of.spec} for of in picked],
    }
    return pages.render(
        "capture.html",
        [*([delays] if delays else []), *([shared_paths.figure(tested)] if tested is not None else [])],
        styles=["capture.css"],
        found=found,
        blame=found["verdict"].get("blame"),
        application=capture_flows.application,
        timelines=[(number, captures[number], spec) for number, spec in timelines],
        still=pages.still,
        waited=next((wait for number, _ in timelines if (wait := captures[number]["timeline"]["wait"])), None),
        picked=_by_capture(captures, picked),
        first_picked=next(iter(picked), None),
        flows_not_picked=sum(len(flow.captures) for flow in flows) - len(picked),
        how_to_zoom=HOW_TO_ZOOM,
        lag_colour=capture_plots.LAG,
        directions=list(DIRECTIONS.items()),
        over_time=Markup(pages.script_json(over_time)),
        capture_script=Markup(pages.text("capture.js")),
        lag_ms=lambda half: sum(capture_facts.lag_by_cause(half, None).values()),
        pick=lambda connections, group: [connections[at] for at in group],
        games=[(row, capture_games.bar(row, tcp)) for row in tcp],
        udp=capture_games.udp(games),
        pairs=_compared(found),
        causes=capture_games.CAUSES,
        plain=capture_plots.PLAIN,
        waits=capture_games.longest(capture_games.waits(folder, tcp), tcp),
        most=capture_games.MOST,
    )


def _by_capture(
    captures: Sequence[Mapping[str, Any]], picked: Sequence[capture_plots.Picked]
) -> list[tuple[Mapping[str, Any], list[tuple[int, str]]]]:
    """Return the flows to pick of each capture: their position and label."""
    options = [
        [(at, of.label) for at, of in enumerate(picked) if of.capture == number] for number in range(len(captures))
    ]
    return [(capture, of) for capture, of in zip(captures, options, strict=True) if of]


def _compared(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the flows of the comparison, games first, then those with the most packets."""
    flows = (found["pair"] or {"flows": []})["flows"]

    def rank(flow: Mapping[str, Any]) -> tuple[bool, int]:
        return flow["kind"] == capture_facts.OTHER, -sum(flow[way]["sent"] or 0 for way in capture_facts.DIRECTIONS)

    return sorted(flows, key=rank)[: capture_games.MOST]


def _delays(folder: Path, flows: Sequence[Flow]) -> Figure | None:
    """Draw how long data of the TCP flows with the most trouble took; nothing if no table has it."""
    places = [
        (number, seen["id"], flow) for flow in flows for number, seen in zip(flow.captures, flow.seen, strict=True)
    ]
    tables = capture_plots.rows_of(folder / "delay.parquet", places[:DRAWN])
    if not tables:
        return None
    two = len({number for number, *_ in places}) > 1
    labels = {
        (number, flow_id): f"{flow.client}{f' ({number + 1})' if two else ''}"
        for number, flow_id, flow in places[:DRAWN]
    }
    colours = dict(zip(labels.values(), OTHERS, strict=False))
    panels = []
    for direction, title in capture_plots.TO.items():
        parts = []
        for place, label in labels.items():
            if place in tables and not (own := capture_plots.one_way(tables[place], direction)).is_empty():
                x, share = curve(own["delay_ms"])
                parts.append(pl.DataFrame({"x": x, "share": share}).with_columns(flow=pl.lit(label)))
        if parts:
            chart = (
                alt.Chart(inline(pl.concat(parts)))
                .mark_line(interpolate="step-after", strokeWidth=1.5)
                .encode(
                    x=alt.X("x:Q", title=None, axis=_axis("ms")),
                    y=alt.Y("share:Q", title="share", scale=alt.Scale(domain=[0, 1])),
                    color=alt.Color(
                        "flow:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None
                    ),
                    detail="flow:N",
                )
                .properties(height=220)
            )
            panels.append(Panel(chart, title))
    return Figure(
        "delay",
        "Time until the acknowledgement",
        "Time from a packet's first transmission to the acknowledgement that covers it, including retransmissions "
        "(the application delay of griwodz2006): share of packets at or below a value in ms, cut at 99.9 %. "
        f"At most {DRAWN} flows: games with the most trouble first.",
        tuple(panels),
        tuple(Key(label, colour) for label, colour in colours.items()),
    )


def _axis(unit: str) -> alt.Axis:
    return alt.Axis(labelExpr=f"datum.index == 1 ? datum.label + ' {unit}' : datum.label", labelFlush=True)
