"""Makes the figures of a report as panels, which a page or a picture arranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from gamelane.catalogue import MMO
from gamelane.plot import style
from gamelane.plot.panels import (
    Chart,
    Figure,
    Key,
    Panel,
    areas_by,
    colour_by,
    keys_of,
    lines_by,
    x_axis,
    y_axis,
)
from gamelane.records.results import Flow, Results, Variant
from gamelane.report import series, thin
from gamelane.report.tables import focus

__all__ = ["Chart", "Figure", "Key", "Panel", "figures"]


def figures(results: Results) -> list[Figure]:
    """Return every figure for which the records have data."""
    found: list[Figure] = []
    for flow in focus(results):
        if flow.app == MMO:
            found += thin.figures(results, flow)
        if not results.rtt.filter(pl.col("flow") == flow.name).is_empty():
            found += [_round_trips(results, flow), _distribution(results, flow), _boxes(results, flow)]
        found.append(_loss(results, flow))
    found += [_throughput(results, "up"), _throughput(results, "down"), _losses(results), _backlog(results)]
    followed = results.rates["direction"].unique().to_list()
    found += [_rates(results, direction) for direction in style.DIRECTIONS if direction in followed]
    if not results.tcp.is_empty():
        found.append(_windows(results))
    return found


def _round_trips(results: Results, flow: Flow) -> Figure:
    return Figure(
        f"rtt-{flow.name}",
        f"RTT of {style.noun(flow)} over time",
        f"{flow.label}. Round-trip time of the network in ms against seconds; lower is better. {_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.round_trips(results, variant, flow.name),
            "ms",
            lambda look: {"color": alt.value(look.colour)},
        ),
    )


def _distribution(results: Results, flow: Flow) -> Figure:
    looks = style.variant_looks(results)
    data = series.distributions(results, flow.name)
    chart = (
        alt.Chart(series.inline(data))
        .mark_line(interpolate="step-after", strokeWidth=1.5, opacity=0.75)
        .encode(
            x=x_axis("x", "ms"),
            y=y_axis("share", "share", top=1.0),
            detail="seed:N",
            **lines_by("variant", looks),
        )
    )
    counts = results.rtt.filter(pl.col("flow") == flow.name, pl.col("t_s") >= results.warmup_s)
    spread = counts.group_by("variant", maintain_order=True).agg(pl.len(), pl.col("rtt_ms").max())
    said = "; ".join(
        f"{looks[name].label} n = {n:,}, largest {style.number(top)} ms" for name, n, top in spread.iter_rows()
    )
    return Figure(
        f"ecdf-{flow.name}",
        f"Distribution of the RTT of {style.noun(flow)}",
        f"{flow.label}. Share of RTT samples at or below a value in ms, one line per run; further left is better. "
        f"Cut at 99.9 %: {said}.",
        (Panel(chart.properties(height=260)),),
        keys_of(looks, lines=True),
    )


def _boxes(results: Results, flow: Flow) -> Figure:
    looks = style.variant_looks(results)
    rows, outliers = (_labelled(frame, looks) for frame in series.boxes(results, flow.name))
    order = list(dict.fromkeys(look.own_label for look in looks.values()))
    where: dict[str, Any] = {
        "y": alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=140))
    }
    sources = [source.name for source in results.sources]
    if sources:
        where["yOffset"] = alt.YOffset("source:N", sort=sources)
    size, room = (14, 20 * len(sources) + 12) if sources else (18, 40)
    areas = areas_by("variant", looks)
    base = alt.Chart(series.inline(rows)).encode(color=areas["color"], **where)
    chart = alt.layer(
        alt.Chart(series.inline(outliers))
        .mark_point(size=12, opacity=0.5, strokeWidth=1)
        .encode(x=x_axis("v", "ms"), color=areas["color"], **where),
        base.mark_rule(strokeWidth=1.5).encode(x=x_axis("low", "ms"), x2="high"),
        base.mark_bar(size=size, stroke="$paper", strokeWidth=1, fill="$paper").encode(x="lower:Q", x2="upper"),
        base.mark_bar(size=size, stroke="$paper", strokeWidth=1).encode(x="lower:Q", x2="upper", **areas),
        base.mark_tick(size=size, thickness=2.5, color="$paper").encode(x="median:Q", color=alt.value("$paper")),
    )
    thinned = bool((rows["outliers"] > series.OUTLIERS).any())
    few = f" At most {series.OUTLIERS} outliers are shown, including the extremes."
    return Figure(
        f"box-{flow.name}",
        f"Spread of the RTT of {style.noun(flow)}",
        f"{flow.label}. RTT samples of all runs in ms; further left is better. Tukey boxes: hinges, median, whiskers "
        f"to the last sample within 1.5 box lengths, outliers as circles.{few if thinned else ''} "
        "To judge a difference, use the table, whose intervals are over runs.",
        (Panel(chart.properties(height=room * len(order) + 10)),),
        keys_of(looks, lines=False) if sources else (),
    )


def _labelled(frame: pl.DataFrame, looks: Mapping[str, style.Look]) -> pl.DataFrame:
    """Add `label` and `source` of each variant."""
    labels = {name: look.own_label for name, look in looks.items()}
    sources = {name: look.source for name, look in looks.items()}
    return frame.with_columns(
        label=pl.col("variant").replace_strict(labels, return_dtype=pl.String),
        source=pl.col("variant").replace_strict(sources, return_dtype=pl.String),
    )


def _throughput(results: Results, direction: str) -> Figure:
    words = {"up": "Upstream", "down": "Downstream"}
    return Figure(
        f"throughput-{direction}",
        f"{words[direction]} throughput of each flow",
        "IP packets received in windows of 1 s, in kbit/s against seconds. Higher is better for bulk transfers, "
        f"steadier is better for games. {_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.throughput(results, variant, direction),
            "kbit/s",
            lambda _: {"color": colour_by("flow", style.flow_colours(results.flows))},
            interpolate="step-after",
        ),
        _flow_keys(results.flows),
    )


def _loss(results: Results, flow: Flow) -> Figure:
    return Figure(
        f"loss-{flow.name}",
        f"Packet loss of {style.noun(flow)}",
        f"{flow.label}. Packets lost in each second, in % of those sent in both directions, against seconds; "
        f"lower is better. {_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.losses(results, variant).filter(pl.col("flow") == flow.name),
            "%",
            lambda look: {"color": alt.value(look.colour)},
            interpolate="step-after",
        ),
    )


def _losses(results: Results) -> Figure:
    return Figure(
        "loss",
        "Packet loss of each flow",
        "Packets lost in each second, in % of those sent in both directions, against seconds. Lower is better, but TCP "
        f"needs some loss to find its rate. {_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.losses(results, variant),
            "%",
            lambda _: {"color": colour_by("flow", style.flow_colours(results.flows))},
            interpolate="step-after",
        ),
        _flow_keys(results.flows),
    )


def _backlog(results: Results) -> Figure:
    return Figure(
        "backlog",
        "Backlog of the queues",
        "Packets waiting at each end of the link, every 100 ms, against seconds; lower means less delay. "
        f"{_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.backlog(results, variant),
            "packets",
            lambda _: {"color": colour_by("direction", style.DIRECTIONS)},
        ),
        (Key("upstream", style.DIRECTIONS["up"]), Key("downstream", style.DIRECTIONS["down"])),
    )


def _rates(results: Results, direction: str) -> Figure:
    words = {"up": "upstream", "down": "downstream"}
    colours = {"shaper": "$blue", "link": "$muted"}
    return Figure(
        f"rate-{direction}",
        f"Rate of the {words[direction]} shaper and of its link",
        "Rate that the gateway shapes to, and rate of the link, in Mbit/s against seconds. Slightly below the link is "
        "best. Above it, the queue builds up outside the gateway; far below it, part of the link is unused. "
        f"{_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.rates(results, variant, direction),
            "Mbit/s",
            lambda _: {"color": colour_by("what", colours)},
            interpolate="step-after",
        ),
        (Key("shaper", colours["shaper"]), Key("link, if its rate is known", colours["link"])),
    )


def _windows(results: Results) -> Figure:
    senders = [flow for flow in results.flows if flow.name in results.tcp["flow"].unique().to_list()]
    return Figure(
        "cwnd",
        "Congestion windows",
        "Congestion window of the sender of each flow (its first connection) every 100 ms, in KiB against seconds. "
        f"Neither higher nor lower is better: a window far above rate x RTT fills the queue. {_shown_run(results)}",
        _over_time(
            results,
            lambda variant: series.windows_of_tcp(results, variant),
            "KiB",
            lambda _: {"color": colour_by("flow", style.flow_colours(results.flows))},
        ),
        _flow_keys(senders, results.flows),
    )


def _over_time(
    results: Results,
    rows: Callable[[Variant], pl.DataFrame],
    unit: str,
    color: Callable[[style.Look], dict[str, alt.Value | alt.Color]],
    interpolate: str = "linear",
) -> tuple[Panel, ...]:
    """Return one panel per variant, all with the same axes. Panels of one variant in several sources are neighbours."""
    looks = style.variant_looks(results)
    frames = [rows(variant) for variant in results.variants]
    top = max((float(frame["v"].max() or 0) for frame in frames if len(frame)), default=0.0)  # type: ignore[arg-type]
    return tuple(
        Panel(
            alt.Chart(series.inline(frame))
            .mark_line(strokeWidth=1.2, interpolate=interpolate, clip=True)  # type: ignore[arg-type]
            .encode(
                x=x_axis("t", "s", top=results.duration_s),
                y=y_axis("v", unit, top=top or 1.0),
                **color(looks[variant.name]),
            )
            .properties(height=150),
            looks[variant.name].label,
            looks[variant.name].colour,
            looks[variant.name].shade,
            looks[variant.name].place + 1 if results.sources else 0,
        )
        for variant, frame in zip(results.variants, frames, strict=True)
    )


def _flow_keys(shown: Iterable[Flow], of: Sequence[Flow] | None = None) -> tuple[Key, ...]:
    shown = list(shown)
    colours = style.flow_colours(of or shown)
    return tuple(Key(flow.name, colours[flow.name]) for flow in shown)


def _shown_run(results: Results) -> str:
    seeds = sorted({variant.runs[0].seed for variant in results.variants})
    if all(len(variant.runs) == 1 for variant in results.variants):
        return ""
    return f"Shows the run with seed {' or '.join(map(str, seeds))}."
