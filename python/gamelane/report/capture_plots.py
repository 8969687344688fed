"""Plots of an analyzed capture over time that zoom together: lag and load of all, and every measurement of one flow.

The page shows the flow that its reader picks. Lines keep the extremes of each bin (`decimate`), so a page stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from gamelane.analysis.decimate import keep_extremes
from gamelane.plot.style import DIRECTIONS
from gamelane.quantity import rate_unit
from gamelane.report.capture_flows import Flow, what
from gamelane.report.capture_games import CAUSE_COLOURS
from gamelane.report.pages import script_json
from gamelane.report.series import inline

Spec = dict[str, Any]
Place = tuple[int, int, Flow]
"""Position of a capture, and number and facts of a flow there."""
Document = Mapping[str, Any]

MOST = 30
"""Maximum number of flows to pick from."""
MOST_BYTES = 1_000_000
"""Maximum size of their plots on the page. The flows with the least trouble are left out first."""
POINTS = 700
"""Maximum number of points of a line."""
WORST = 400
"""Maximum number of delayed packets, and of retransmissions, in each direction of a flow."""
TO = {"down": "to the client", "up": "to the server"}
LAG = "$orange"
WHOLE = "both-halves"
"""Method of an RTT sample of the whole path."""
NO_CAUSE = "none"
PLAIN = "$ink"
"""Colour of packets that were not retransmitted."""


@dataclass(frozen=True)
class Picked:
    """A flow to pick: its label, the capture, and its plots."""

    label: str
    capture: int
    spec: Spec


def timeline(capture: Document) -> Spec | None:
    """Return lag and load of a whole capture over time, if they are known."""
    of = capture.get("timeline")
    if not of or not of["lag_ms"]:
        return None
    rows = pl.DataFrame({key: of[key] for key in ("lag_ms", "up_bps", "down_bps")}).with_row_index("step")
    rows = rows.with_columns(t=pl.col("step") * of["step_s"])
    unit, per = rate_unit(max(*of["up_bps"], *of["down_bps"]))
    load = rows.select("t", up=pl.col("up_bps") / per, down=pl.col("down_bps") / per)
    load = load.unpivot(index="t", variable_name="direction", value_name="v")
    lag = rows.select("t", end=pl.col("t") + of["step_s"], v="lag_ms").filter(pl.col("v") > 0)
    bars = alt.Chart(inline(lag)).mark_rect(color=LAG).encode(x2="end:Q", y2=alt.Y2Datum(0), y=_y(), x=_x(capture))
    return _stacked(
        [
            *([(bars, f"Longest wait of {of['wait']['of']}, ms", 90)] if of["wait"] else []),
            (_steps(load, capture), f"Load of all flows, {unit}", 70),
        ]
    )


def picked(folder: Path, found: Document, flows: Sequence[Flow]) -> list[Picked]:
    """Return the plots of flows from the tables, in the order of the flows, as many as the page may hold."""
    places = [
        (number, seen["id"], flow) for flow in flows for number, seen in zip(flow.captures, flow.seen, strict=True)
    ]
    places = places[:MOST]
    tables = {name: rows_of(folder / f"{name}.parquet", places) for name in TABLES}
    kept, size = [], 0
    for number, flow_id, flow in places:
        own = {name: rows.get((number, flow_id)) for name, rows in tables.items()}
        spec = _plots(found["captures"][number], own)
        if not spec["vconcat"]:
            continue
        size += len(script_json(spec))
        if size > MOST_BYTES:
            break
        kept.append(Picked(_label(flow), number, spec))
    return kept


TABLES = ("windows", "rtt", "retransmissions", "delay")


def rows_of(table: Path, places: Iterable[Place]) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Return the rows of each of the flows."""
    keys = pl.DataFrame(
        [(number, flow_id) for number, flow_id, _ in places],
        schema={"capture": pl.UInt8, "flow": pl.UInt32},
        orient="row",
    )
    rows = pl.scan_parquet(table).join(keys.lazy(), on=["capture", "flow"], how="semi").sort("t_s").collect()
    return rows.partition_by("capture", "flow", as_dict=True)


def _label(flow: Flow) -> str:
    """Return what tells flows apart, first what a narrow screen has room for."""
    parts = [flow.client, what(flow)]
    lag = sum(sum(way.lag_ms.values()) for way in flow.ways.values()) / 1000
    if lag and flow.is_game:
        parts.append(f"lag {lag:.1f} s")
    if lost := sum(way.lost[0] for way in flow.ways.values() if way.lost):
        parts.append(f"{lost:,} lost")
    if not flow.is_game:
        parts.append(f"{flow.bytes / 1e6:.1f} MB")
    return ", ".join([*parts, f"server {flow.server}"])


def _plots(capture: Document, tables: Mapping[str, pl.DataFrame | None]) -> Spec:
    """Return the plots of one flow, one below the other, as far as the tables have data."""
    panels: list[tuple[Any, str, int]] = []
    if (trips := tables["rtt"]) is not None:
        panels.append(_round_trips(trips, capture))
    for direction, to in TO.items():
        if (delays := tables["delay"]) is not None and not (of := one_way(delays, direction)).is_empty():
            panels.append((_delays(of, capture), f"Delay of data {to}, ms", 90))
    if (again := tables["retransmissions"]) is not None:
        panels.append((_retransmissions(again, capture), "Retransmissions", 40))
    if (windows := tables["windows"]) is not None:
        rates = _load(windows, capture, "bytes", 8)
        unit, per = rate_unit(rates["v"].max())  # type: ignore[arg-type]
        panels.append((_steps(rates.with_columns(pl.col("v") / per), capture), f"Throughput, {unit}", 80))
        if tables["delay"] is None:
            panels.append((_steps(_load(windows, capture, "packets", 1), capture), "Packets per second", 80))
    return _stacked(panels)


def one_way(rows: pl.DataFrame, direction: str) -> pl.DataFrame:
    """Return the rows of one direction."""
    return rows.filter(pl.col("direction").cast(pl.String) == direction)


def _round_trips(trips: pl.DataFrame, capture: Document) -> tuple[Any, str, int]:
    """Return the RTT of the path. If that covers less than half of the time, return the longer half of the path."""
    series = trips.select("t_s", "rtt_ms", pl.col("method", "towards").cast(pl.String))
    covered = series.group_by("method", "towards").agg(
        seconds=pl.col("t_s").floor().n_unique(), p50=pl.col("rtt_ms").median()
    )
    long = covered.filter(pl.col("seconds") >= pl.col("seconds").max() / 2)
    chosen = long.sort(pl.col("method") == WHOLE, "p50", "method", descending=True).head(1)
    rows = series.join(chosen, on=["method", "towards"], how="semi", maintain_order="left")
    rows = _thinned(rows, "rtt_ms", POINTS).select(t="t_s", v="rtt_ms")
    line = alt.Chart(_inline(rows)).mark_line(strokeWidth=1, color="$blue", clip=True)
    title = "RTT, ms" if chosen["method"][0] == WHOLE else f"RTT to the {chosen['towards'][0]}, ms"
    return line.encode(x=_x(capture), y=_y()), title, 90


def _delays(delays: pl.DataFrame, capture: Document) -> alt.Chart:
    """Draw the time of each packet to its acknowledgement, in the colour of the cause if it was retransmitted."""
    causes = delays.with_columns(cause=pl.col("cause").cast(pl.String).fill_null(NO_CAUSE))
    normal = _thinned(causes.filter(pl.col("cause") == NO_CAUSE), "delay_ms", POINTS)
    late = causes.filter(pl.col("cause") != NO_CAUSE).sort("delay_ms", descending=True).head(WORST)
    rows = pl.concat([normal, late]).select("cause", t="t_s", v="delay_ms")
    chart: alt.Chart = (
        alt.Chart(_inline(rows))
        .mark_point(filled=True, size=9, opacity=0.8, clip=True)
        .encode(x=_x(capture), y=_y(), color=_colour("cause", CAUSE_COLOURS | {NO_CAUSE: PLAIN}), tooltip=TOOLTIP)
    )
    return chart


def _retransmissions(again: pl.DataFrame, capture: Document) -> alt.Chart:
    """Draw a stroke for each retransmission, in the colour of its cause and the row of its direction."""
    rows = again.with_columns(pl.col("cause").cast(pl.String), to=pl.col("direction").cast(pl.String))
    rows = (
        rows.sort("since_first_ms", descending=True).head(2 * WORST).select("to", "cause", t="t_s", v="since_first_ms")
    )
    chart: alt.Chart = (
        alt.Chart(_inline(rows))
        .mark_tick(thickness=1.5, clip=True)
        .encode(
            x=_x(capture),
            y=alt.Y("to:N", title=None, sort=list(TO), scale=alt.Scale(domain=list(TO)), axis=_side()),
            color=_colour("cause", CAUSE_COLOURS),
            tooltip=TOOLTIP,
        )
    )
    return chart


def _load(windows: pl.DataFrame, capture: Document, column: str, factor: float) -> pl.DataFrame:
    """Return `t, direction, v`: a rate in equal bins, also where the flow is silent."""
    step = 0.25
    while capture["duration_s"] / step > POINTS:
        step *= 2
    bins = pl.int_range(int(capture["duration_s"] / step) + 1, eager=True).alias("bin")
    of = windows.with_columns(pl.col("direction").cast(pl.String), bin=(pl.col("t_s") / step).floor().cast(pl.Int64))
    sums = of.group_by("direction", "bin").agg(pl.col(column).sum().cast(pl.Float64) * factor / step)
    every = pl.DataFrame({"direction": list(DIRECTIONS)}).join(bins.to_frame(), how="cross")
    joined = every.join(sums, on=["direction", "bin"], how="left").fill_null(0.0)
    return joined.select("direction", t=pl.col("bin") * step, v=column)


def _steps(rows: pl.DataFrame, capture: Document) -> alt.Chart:
    """Draw rates by direction. The last step lasts to the end of the capture."""
    end = rows.group_by("direction", maintain_order=True).last().with_columns(t=pl.lit(float(capture["duration_s"])))
    rows = pl.concat([rows, end.select(rows.columns)])
    chart: alt.Chart = (
        alt.Chart(_inline(rows))
        .mark_line(strokeWidth=1.2, interpolate="step-after", clip=True)
        .encode(x=_x(capture), y=_y(), color=_colour("direction", DIRECTIONS))
    )
    return chart


def _stacked(panels: Sequence[tuple[Any, str, int]]) -> Spec:
    """Put panels on one time axis. The page sets the width (`capture.js`)."""
    shown = [
        {**chart.properties(height=height).to_dict(validate=False), "name": f"panel{at}", "title": _title(title)}
        for at, (chart, title, height) in enumerate(panels)
    ]
    for panel in shown[:-1]:
        panel["encoding"]["x"]["axis"] = {"labels": False, "ticks": False}
    datasets: Spec = {}
    for panel in shown:
        datasets |= panel.pop("datasets", {})
        for key in ("$schema", "config"):
            panel.pop(key, None)
    select = {"type": "interval", "encodings": ["x"]}
    zoom = {"name": "zoom", "select": select, "bind": "scales", "views": [panel["name"] for panel in shown]}
    own_colours = {"scale": {"color": "independent"}}
    return {"vconcat": shown, "spacing": 8, "params": [zoom], "resolve": own_colours, "datasets": datasets}


def _title(text: str) -> Spec:
    return {"text": text, "fontSize": 12, "offset": 4, "frame": "group"}


def _x(capture: Document) -> alt.X:
    axis = alt.Axis(labelExpr="datum.label + ' s'", labelFlush=True, tickCount=5)
    return alt.X("t:Q", title=None, axis=axis, scale=alt.Scale(domain=[0, capture["duration_s"]], nice=False))


def _y() -> alt.Y:
    return alt.Y("v:Q", title=None, scale=alt.Scale(domainMin=0, nice=True), axis=_side(tickCount=3))


def _side(**options: Any) -> alt.Axis:
    """Return an axis of the same width in every panel."""
    return alt.Axis(minExtent=38, maxExtent=38, **options)


def _colour(field: str, colours: Mapping[str, str]) -> alt.Color:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=None)


def _thinned(rows: pl.DataFrame, column: str, points: int) -> pl.DataFrame:
    return rows[keep_extremes(rows["t_s"], rows[column], points=points)] if len(rows) > points else rows


def _inline(rows: pl.DataFrame) -> alt.InlineData:
    """Embed `t` to the millisecond and `v` in four digits, with no digit more."""
    rows = rows.with_columns(pl.col("t").round(3), pl.col("v").cast(pl.Float64).round_sig_figs(4))
    return alt.InlineData(values=rows.write_csv(), format=alt.DataFormat(type="csv"))  # type: ignore[no-untyped-call]


TOOLTIP = [
    alt.Tooltip("t:Q", title="time, s"),
    alt.Tooltip("v:Q", title="after the first transmission, ms"),
    alt.Tooltip("cause:N", title="retransmission"),
]
