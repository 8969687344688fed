"""Reduces records to the few columns that a plot needs, as compact text."""

from __future__ import annotations

import altair as alt
import polars as pl

from gamelane.analysis.boxes import box, thin
from gamelane.analysis.decimate import keep_extremes
from gamelane.analysis.ecdf import curve
from gamelane.records.results import Results, Variant

POINTS = 2000
"""Maximum number of points of one line."""

OUTLIERS = 200
"""Maximum number of outliers drawn for one box."""


def inline(frame: pl.DataFrame) -> alt.InlineData:
    """Embed a frame into the plot."""
    return alt.InlineData(values=frame.write_csv(float_precision=3), format=alt.DataFormat(type="csv"))  # type: ignore[no-untyped-call]


def first_run(frame: pl.DataFrame, variant: Variant) -> pl.DataFrame:
    """Return the rows of a variant's first seed: a plot over time shows one run."""
    return frame.filter(pl.col("variant") == variant.name, pl.col("seed") == variant.runs[0].seed)


def line(frame: pl.DataFrame, y: str) -> pl.DataFrame:
    """Reduce one line to at most `POINTS` points, keeping extremes."""
    keep = keep_extremes(frame["t_s"], frame[y], points=POINTS)
    return frame[keep] if len(keep) < len(frame) else frame


def round_trips(results: Results, variant: Variant, flow: str) -> pl.DataFrame:
    """`t, v`: RTT in ms over time."""
    rows = first_run(results.rtt, variant).filter(pl.col("flow") == flow)
    return line(rows, "rtt_ms").select(t="t_s", v="rtt_ms")


def distributions(results: Results, flow: str) -> pl.DataFrame:
    """`variant, seed, x, share`: the ECDF of every run after the warm-up."""
    parts = [
        pl.DataFrame({"x": x, "share": share}).select(
            pl.lit(str(variant)).alias("variant"), pl.lit(seed).alias("seed"), "x", "share"
        )
        for (variant, seed), rows in _loaded(results, flow).group_by("variant", "seed", maintain_order=True)
        for x, share in [curve(rows["rtt_ms"])]
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=["variant", "seed", "x", "share"])


def boxes(results: Results, flow: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the boxes of all runs' samples after the warm-up, and the outliers to draw."""
    rows, outliers = [], []
    for (variant,), samples in _loaded(results, flow).group_by("variant", maintain_order=True):
        of = box(samples["rtt_ms"])
        name = str(variant)
        rows.append((name, of.low, of.lower_hinge, of.median, of.upper_hinge, of.high, of.n, len(of.outliers)))
        outliers += [(name, float(value)) for value in thin(of.outliers, OUTLIERS)]
    columns = ["variant", "low", "lower", "median", "upper", "high", "n", "outliers"]
    return (
        pl.DataFrame(rows, schema=columns, orient="row"),
        pl.DataFrame(outliers, schema={"variant": pl.String, "v": pl.Float64}, orient="row"),
    )


def throughput(results: Results, variant: Variant, direction: str) -> pl.DataFrame:
    """`t, flow, v`: received kbit/s in windows of 1 s."""
    rows = first_run(results.windows, variant).filter(pl.col("direction") == direction)
    return rows.select(t="t_s", flow="flow", v=pl.col("bytes") * 8 / 1000)


def losses(results: Results, variant: Variant) -> pl.DataFrame:
    """`t, flow, v`: percent of the packets sent in a window that were lost, both directions together."""
    rows = first_run(results.windows, variant)
    summed = rows.group_by("flow", "t_s", maintain_order=True).agg(pl.col("sent", "lost").sum())
    share = pl.when(pl.col("sent") > 0).then(100 * pl.col("lost") / pl.col("sent")).otherwise(0.0)
    return summed.select(t="t_s", flow="flow", v=share)


def backlog(results: Results, variant: Variant) -> pl.DataFrame:
    """`t, direction, v`: packets in each queue."""
    rows = first_run(results.queues, variant)
    parts = [line(part, "packets") for part in rows.partition_by("direction", maintain_order=True)]
    rows = pl.concat(parts) if parts else rows
    return rows.select(t="t_s", direction="direction", v="packets")


def rates(results: Results, variant: Variant, direction: str) -> pl.DataFrame:
    """`t, what, v`: Mbit/s of a shaper that follows its link, and of the link."""
    rows = first_run(results.rates, variant).filter(pl.col("direction") == direction)
    rows = rows.select(t="t_s", shaper="shaped_bps", link="link_bps")
    rows = rows.unpivot(index="t", variable_name="what", value_name="v").drop_nulls()
    return rows.with_columns(pl.col("v") / 1e6)


def windows_of_tcp(results: Results, variant: Variant) -> pl.DataFrame:
    """`t, flow, v`: congestion window in KiB of the side of each flow that sends more, on its first connection."""
    rows = first_run(results.tcp, variant)
    if rows.is_empty():
        return rows.select(t="t_s", flow="flow", v="cwnd_bytes")
    rows = rows.filter(pl.col("connection") == pl.col("connection").min().over("flow"))
    busy = rows.group_by("flow", "side").agg(pl.col("in_flight_bytes").sum().alias("busy"))
    senders = busy.sort("flow", "busy").group_by("flow", maintain_order=True).last().select("flow", "side")
    rows = rows.join(senders, on=["flow", "side"], how="semi", maintain_order="left")
    parts = [line(part, "cwnd_bytes") for part in rows.partition_by("flow", maintain_order=True)]
    return pl.concat(parts).select(t="t_s", flow="flow", v=pl.col("cwnd_bytes") / 1024)


def _loaded(results: Results, flow: str) -> pl.DataFrame:
    return results.rtt.filter(pl.col("flow") == flow, pl.col("t_s") >= results.warmup_s)
