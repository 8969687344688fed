"""Renders the report of analyzed captures as one page that opens offline: verdict, tables, plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from gamelane import whole
from gamelane.analysis import capture_facts
from gamelane.analysis.capture_paths import Found
from gamelane.analysis.decimate import keep_extremes
from gamelane.analysis.ecdf import curve
from gamelane.plot.style import OTHERS
from gamelane.report import capture_games, shared_paths
from gamelane.report.figures import Figure, Key, Panel
from gamelane.report.pages import render
from gamelane.report.series import inline

DRAWN = 6
"""Maximum number of flows in one plot."""
MOST_WAITS = 2000


def write_page(folder: Path, found: Mapping[str, Any], tested: Found | None = None) -> Path:
    """Write `report.html` into the folder of the tables. `tested` adds shared paths."""
    target = folder / "report.html"
    with whole.writing(target):
        target.write_text(page(folder, found, tested), encoding="utf-8")
    return target


def page(folder: Path, found: Mapping[str, Any], tested: Found | None = None) -> str:
    """Return the page."""
    games = capture_facts.games(found)
    tcp = capture_games.rows(games)
    delayed = capture_games.waits(folder, tcp)
    drawn = figures(folder, found, tcp, delayed)
    if tested is not None:
        drawn.append(shared_paths.figure(tested))
    return render(
        "capture.html",
        drawn,
        styles=["capture.css"],
        found=found,
        lag_ms=lambda half: sum(capture_facts.lag_by_cause(half, None).values()),
        pick=lambda connections, group: [connections[at] for at in group],
        games=[(row, capture_games.bar(row, tcp)) for row in tcp],
        udp=capture_games.udp(games),
        pairs=_compared(found),
        causes=[(capture_facts.CAUSE_WORDS[cause], colour) for cause, colour in capture_games.CAUSE_COLOURS.items()],
        waits=capture_games.longest(delayed, tcp),
        most=capture_games.MOST,
    )


def figures(
    folder: Path, found: Mapping[str, Any], tcp: list[capture_games.Row], delayed: pl.DataFrame
) -> list[Figure]:
    """Return every figure for which the tables have data."""
    chosen = _busiest(found)
    if not chosen:
        return []
    labels = {
        (number, flow["id"]): f"{flow['client']}{f' ({number + 1})' if len(found['captures']) > 1 else ''}"
        for number, flow in chosen
    }
    colours = dict(zip(labels.values(), OTHERS, strict=False))
    keys = tuple(Key(label, colour) for label, colour in colours.items())
    color = alt.Color("flow:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)
    drawn = [_waits(tcp, delayed)] if tcp else []
    drawn.append(_throughput(folder, labels, color, keys))
    trips = _rows(folder, "rtt", labels)
    if not trips.is_empty():
        drawn.append(_round_trips(trips, color, keys))
    delays = _rows(folder, "delay", labels)
    if not delays.is_empty():
        drawn.append(_delays(delays, color, keys))
    again = _rows(folder, "retransmissions", labels)
    if not again.is_empty():
        drawn.append(_retransmissions(again, color, keys))
    return drawn


def _waits(tcp: list[capture_games.Row], late: pl.DataFrame) -> Figure:
    colours = capture_games.CAUSE_COLOURS
    panels = []
    for to, title in (("player", "to the players"), ("server", "to the server")):
        numbers = [number for number, row in enumerate(tcp) if row.way.to == to]
        rows = late.filter(pl.col("way").is_in(numbers))
        rows = rows.sort("delay_ms", descending=True).head(MOST_WAITS).select("cause", t="t_s", v="delay_ms")
        base = alt.Chart(inline(rows.with_columns(zero=pl.lit(0)))).encode(
            x=alt.X("t:Q", title=None, axis=_axis("s")),
            y=alt.Y("v:Q", title="ms", scale=alt.Scale(domainMin=0)),
            color=alt.Color(
                "cause:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None
            ),
        )
        stems = base.mark_rule(strokeWidth=1, opacity=0.6).encode(y2=alt.Y2("zero:Q"))
        panels.append(Panel((stems + base.mark_point(filled=True, size=14, opacity=0.9)).properties(height=200), title))
    return Figure(
        "waits",
        "Delayed packets: when, how long, and why",
        "Each packet of a game over TCP that was retransmitted, or waited behind one that was: when it was first sent, "
        "and the time until its acknowledgement in ms. All other packets took about one RTT. Each panel shows the "
        f"{MOST_WAITS:,} longest at most.",
        tuple(panels),
        tuple(
            Key(capture_facts.CAUSE_WORDS[cause], colour)
            for cause, colour in colours.items()
            if cause in set(late["cause"])
        ),
    )


def _compared(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the flows of the comparison, games first, then those with the most packets."""
    flows = (found["pair"] or {"flows": []})["flows"]

    def rank(flow: Mapping[str, Any]) -> tuple[bool, int]:
        return flow["kind"] == capture_facts.OTHER, -sum(flow[way]["sent"] or 0 for way in capture_facts.DIRECTIONS)

    return sorted(flows, key=rank)[: capture_games.MOST]


def _busiest(found: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    flows = [(number, flow) for number, capture in enumerate(found["captures"]) for flow in capture["flows"]]
    return sorted(flows, key=lambda entry: -(entry[1]["up"]["packets"] + entry[1]["down"]["packets"]))[:DRAWN]


def _rows(folder: Path, table: str, labels: Mapping[tuple[int, int], str]) -> pl.DataFrame:
    """Return the rows of the plotted flows, with labels instead of numbers."""
    names = pl.DataFrame(
        [(number, flow, label) for (number, flow), label in labels.items()],
        schema={"capture": pl.UInt8, "flow": pl.UInt32, "label": pl.String},
        orient="row",
    )
    rows = pl.scan_parquet(folder / f"{table}.parquet").join(names.lazy(), on=["capture", "flow"], how="inner")
    return rows.drop("flow").rename({"label": "flow"}).collect()


def _throughput(folder: Path, labels: Mapping[tuple[int, int], str], color: alt.Color, keys: tuple[Key, ...]) -> Figure:
    seconds = (
        _rows(folder, "windows", labels)
        .with_columns(t=pl.col("t_s").floor())
        .group_by("flow", "t", maintain_order=True)
        .agg(v=pl.col("bytes").sum() * 8 / 1000)
    )
    return Figure(
        "throughput",
        "Throughput of the busiest flows",
        "IP traffic of both directions in kbit/s, against seconds since the capture's first packet.",
        (Panel(_lines(seconds, "kbit/s", color, interpolate="step-after")),),
        keys,
    )


def _round_trips(trips: pl.DataFrame, color: alt.Color, keys: tuple[Key, ...]) -> Figure:
    both = trips.filter(pl.col("method") == "both-halves").select("flow", t="t_s", v="rtt_ms")
    return Figure(
        "rtt",
        "RTT over time",
        "Time from one end to the other and back in ms: the sum of the times from data to its acknowledgement on both "
        "sides of the capture point (Karn's algorithm). Delayed acknowledgements add to it.",
        (Panel(_lines(both, "ms", color)),),
        keys,
    )


def _delays(delays: pl.DataFrame, color: alt.Color, keys: tuple[Key, ...]) -> Figure:
    panels = []
    for direction, title in (("down", "to the client"), ("up", "to the server")):
        parts = []
        rows = delays.filter(pl.col("direction") == direction)
        for (name,), part in rows.partition_by("flow", as_dict=True, maintain_order=True).items():
            x, share = curve(part["delay_ms"])
            parts.append(pl.DataFrame({"x": x, "share": share}).with_columns(flow=pl.lit(name)))
        if parts:
            chart = (
                alt.Chart(inline(pl.concat(parts)))
                .mark_line(interpolate="step-after", strokeWidth=1.5)
                .encode(
                    x=alt.X("x:Q", title=None, axis=_axis("ms")),
                    y=alt.Y("share:Q", title="share", scale=alt.Scale(domain=[0, 1])),
                    color=color,
                    detail="flow:N",
                )
                .properties(height=220)
            )
            panels.append(Panel(chart, title))
    return Figure(
        "delay",
        "Time until the acknowledgement",
        "Time from a packet's first transmission to the acknowledgement that covers it, including retransmissions "
        "(the application delay of griwodz2006): share of packets at or below a value in ms, cut at 99.9 %.",
        tuple(panels),
        keys,
    )


def _retransmissions(again: pl.DataFrame, color: alt.Color, keys: tuple[Key, ...]) -> Figure:
    rows = again.with_columns(why=pl.col("cause").cast(pl.String).replace(capture_facts.CAUSE_WORDS)).select(
        "flow", "why", t="t_s", v="since_first_ms"
    )
    if len(rows) > 4000:
        rows = rows.sample(4000, seed=1)
    chart = (
        alt.Chart(inline(rows))
        .mark_point(size=18, opacity=0.7)
        .encode(
            x=alt.X("v:Q", title=None, axis=_axis("ms")),
            y=alt.Y("why:N", title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=160)),
            yOffset=alt.YOffset("flow:N"),
            color=color,
        )
        .properties(height=alt.Step(12))
    )
    return Figure(
        "retransmissions",
        "Retransmissions: how late, and why",
        "Time from the first transmission to the retransmission in ms, by cause. At most 4,000 are shown.",
        (Panel(chart),),
        keys,
    )


def _lines(rows: pl.DataFrame, unit: str, color: alt.Color, interpolate: str = "linear") -> alt.Chart:
    parts = [
        part[keep_extremes(part["t"], part["v"], points=1500)]
        for part in rows.partition_by("flow", maintain_order=True)
        if not part.is_empty()
    ]
    data = pl.concat(parts) if parts else rows
    chart: alt.Chart = (
        alt.Chart(inline(data))
        .mark_line(strokeWidth=1.2, interpolate=interpolate)  # type: ignore[arg-type]
        .encode(
            x=alt.X("t:Q", title=None, axis=_axis("s")),
            y=alt.Y("v:Q", title=unit, scale=alt.Scale(domainMin=0)),
            color=color,
            detail="flow:N",
        )
        .properties(height=180)
    )
    return chart


def _axis(unit: str) -> alt.Axis:
    return alt.Axis(labelExpr=f"datum.index == 1 ? datum.label + ' {unit}' : datum.label", labelFlush=True)
