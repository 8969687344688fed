"""Makes figures of a game over TCP: delivery delay, delay of each further retransmission, savings by shared carriers.

Left out: anything per connection, because a flow has up to 100,000.
"""

from __future__ import annotations

import tomllib
from typing import Any

import altair as alt
import polars as pl

from gamelane import quantity
from gamelane.analysis.ecdf import curve
from gamelane.plot import style
from gamelane.plot.panels import Figure, Key, Panel, areas_by, colour_by, keys_of, lines_by, y_axis
from gamelane.records.results import Flow, Results, Variant
from gamelane.report import series

NUMBERED = 3
"""Number of retransmissions in griwodz2006, Fig. 5."""

CUT = 0.9999


def figures(results: Results, flow: Flow) -> list[Figure]:
    """Return every figure for which the records of a game over TCP have data."""
    found = []
    if not _messages(results, flow).is_empty():
        found.append(_deliveries(results, flow))
    if not _repaired(results, flow).is_empty():
        found.append(_retransmissions(results, flow))
    saved = _saved(results, flow)
    if not saved.is_empty():
        found.append(_savings(flow, saved))
    return found


def _messages(results: Results, flow: Flow) -> pl.DataFrame:
    since = pl.col("t_s") - pl.col("delay_ms") / 1000 >= results.warmup_s
    return results.deliveries.filter(pl.col("flow") == flow.name, pl.col("direction") == "down", since)


def _deliveries(results: Results, flow: Flow) -> Figure:
    looks = style.variant_looks(results)
    parts, said = [], []
    for variant in results.variants:
        of_variant = _messages(results, flow).filter(pl.col("variant") == variant.name)
        for run in variant.runs:
            delays = of_variant.filter(pl.col("seed") == run.seed)["delay_ms"]
            if len(delays):
                x, share = curve(delays, upto=CUT)
                parts.append(pl.DataFrame({"variant": variant.name, "seed": run.seed, "x": x, "share": share}))
        if len(of_variant):
            top = style.number(of_variant["delay_ms"].max())  # type: ignore[arg-type]
            said.append(f"{looks[variant.name].label} n = {len(of_variant):,}, largest {top} ms")
    chart = (
        alt.Chart(series.inline(pl.concat(parts)))
        .mark_line(interpolate="step-after", strokeWidth=1.5, opacity=0.75)
        .encode(
            x=alt.X("x:Q", title="ms", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format=",", tickCount=8)),
            y=y_axis("share", "share", top=1.0),
            detail="seed:N",
            **lines_by("variant", looks),
        )
    )
    return Figure(
        f"delivery-{flow.name}",
        f"Delivery delay of {style.noun(flow)}",
        f"{flow.label}. Share of the messages to the players delivered within a time in ms, on a logarithmic axis. The"
        " time is from the write to the delivery in order; one line per run; further left is better."
        f" Cut at 99.99 %: {'; '.join(said)}.",
        (Panel(chart.properties(height=260)),),
        keys_of(looks, lines=True),
    )


def _repaired(results: Results, flow: Flow) -> pl.DataFrame:
    """`variant, number, mean, low, high, n`: packets by how often they were retransmitted."""
    rows = results.retransmissions.filter(
        pl.col("flow") == flow.name,
        pl.col("included") == 0,
        pl.col("retransmissions") <= NUMBERED,
        pl.col("retransmissions") > 0,
    )
    grouped = rows.group_by("variant", "retransmissions", maintain_order=True).agg(
        pl.col("delay_ms").mean().alias("mean"),
        pl.col("delay_ms").std().fill_null(0.0).alias("sd"),
        pl.len().alias("n"),
    )
    return grouped.with_columns(
        pl.col("variant").cast(pl.String),
        pl.col("retransmissions").replace_strict(NAMES, return_dtype=pl.String).alias("number"),
        pl.max_horizontal(pl.col("mean") - pl.col("sd"), 0.0).alias("low"),
        (pl.col("mean") + pl.col("sd")).alias("high"),
    ).select("variant", "number", "mean", "low", "high", "n")


NAMES = {1: "1st", 2: "2nd", 3: "3rd"}


def _retransmissions(results: Results, flow: Flow) -> Figure:
    looks = style.variant_looks(results)
    rows = _repaired(results, flow)
    order = [variant.name for variant in results.variants]
    base = alt.Chart(series.inline(rows))
    x = alt.X("number:N", sort=list(NAMES.values()), title=None, axis=alt.Axis(labelAngle=0, ticks=False))
    beside = alt.XOffset("variant:N", sort=order)
    chart = alt.layer(
        base.mark_bar().encode(
            x=x,
            xOffset=beside,
            y=y_axis("mean", "ms", top=float(rows["high"].max() or 1.0)),  # type: ignore[arg-type]
            **areas_by("variant", looks),
        ),
        base.mark_rule(color="$muted").encode(x=x, xOffset=beside, y="low:Q", y2="high:Q"),
    )
    return Figure(
        f"retransmission-{flow.name}",
        f"Retransmission delay of {style.noun(flow)}",
        f"{flow.label}. Time from a packet's first transmission to the 1st, 2nd or 3rd retransmission that was"
        " acknowledged, in ms: mean, and a line of one standard deviation to each side. Packets of all runs, except"
        " those included in the retransmission of another; lower is better.",
        (Panel(chart.properties(height=220)),),
        keys_of(looks, lines=False),
    )


def _saved(results: Results, flow: Flow) -> pl.DataFrame:
    """`carriage, what, loss, saved`: savings by shared carriers over one connection per player, same loss."""
    cells: dict[tuple[str, str, float], tuple[float, float]] = {}
    for variant in results.variants:
        own = next((each for each in tomllib.loads(variant.toml)["flow"] if each["name"] == flow.name), None)
        loss = None if own is None else _percent(own)
        if own is not None and loss is not None:
            cells[variant.source, _carriage(own), loss] = _wire(variant, flow)
    rows = []
    for (source, carriage, loss), (packets, size) in cells.items():
        direct = cells.get((source, DIRECT, loss))
        if carriage != DIRECT and direct is not None:
            name = f"{carriage} ({source})" if source else carriage
            rows += [
                (name, "packets", loss, 100 * (1 - packets / direct[0])),
                (name, "bytes", loss, 100 * (1 - size / direct[1])),
            ]
    schema = {"carriage": pl.String, "what": pl.String, "loss": pl.Float64, "saved": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("carriage", "what", "loss")


DIRECT = "direct"


def _carriage(flow: dict[str, Any]) -> str:
    kind = str(flow.get("carriage", DIRECT))
    carriers = flow.get("carriers")
    return f"{kind}, {carriers} connections" if carriers not in (None, 1) else kind


def _percent(flow: dict[str, Any]) -> float | None:
    """Return the loss rate of a path whose loss is random and equal in both directions."""
    loss = flow.get("loss", "0%")
    return quantity.parse(loss, "%") if isinstance(loss, str) else None


def _wire(variant: Variant, flow: Flow) -> tuple[float, float]:
    runs = [run.summary["flows"][flow.name] for run in variant.runs]
    packets, size = (sum(run[way][what] for run in runs for way in ("up", "down")) for what in ("sent", "sent_bytes"))
    return packets / len(runs), size / len(runs)


def _savings(flow: Flow, rows: pl.DataFrame) -> Figure:
    names = rows["carriage"].unique(maintain_order=True).to_list()
    colours = dict(zip(names, style.OTHERS, strict=False))
    panels = tuple(
        Panel(
            alt.Chart(series.inline(rows.filter(pl.col("what") == what)))
            .mark_line(point=alt.OverlayMarkDef(size=45, filled=True), strokeWidth=1.5)
            .encode(
                x=alt.X("loss:Q", title="% loss in each direction", scale=alt.Scale(zero=True)),
                y=alt.Y("saved:Q", title="%"),
                color=colour_by("carriage", colours),
            )
            .properties(height=180),
            what,
        )
        for what in ("packets", "bytes")
    )
    return Figure(
        f"savings-{flow.name}",
        f"Savings of {style.noun(flow)} by shared connections",
        f"{flow.label}. Packets and IP bytes saved in both directions, in % of those of one connection per player at"
        " the same loss; higher is better.",
        panels,
        tuple(Key(name, colour) for name, colour in colours.items()),
    )
