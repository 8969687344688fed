"""Makes figures of remedies for thin streams: delay against cost, and bytes saved against loss."""

from __future__ import annotations

import altair as alt
import polars as pl

from gamelane.plot.panels import Figure, Key, Panel, colour_by
from gamelane.plot.style import OTHERS
from gamelane.remedies import KINDS, PLAIN, REMEDIES, Ranking
from gamelane.report.series import inline

WORDS = {"random": "random loss", "bursts": "burst loss"}


def figures(ranking: Ranking) -> list[Figure]:
    """Both figures."""
    return [_delays(ranking), _savings(ranking)]


def _delays(ranking: Ranking) -> Figure:
    losses = list(dict.fromkeys(each.loss_percent for each in ranking.measured))
    rows = pl.DataFrame(
        [(each.kind, each.remedy, f"{each.loss_percent:g} %", each.delivery_p99_ms.mean) for each in ranking.measured],
        schema=["kind", "remedy", "loss", "p99"],
        orient="row",
    )
    colours = {f"{loss:g} %": OTHERS[index % len(OTHERS)] for index, loss in enumerate(losses)}
    panels = []
    for kind in KINDS:
        chart = (
            alt.Chart(inline(rows.filter(pl.col("kind") == kind).drop("kind")))
            .mark_point(filled=True, size=45, opacity=0.9)
            .encode(
                x=alt.X("p99:Q", title="ms", scale=alt.Scale(type="log")),
                y=alt.Y("remedy:N", sort=list(ranking.order), title=None, axis=alt.Axis(labelLimit=160, grid=True)),
                color=colour_by("loss", colours),
            )
            .properties(height=18 * len(ranking.order))
        )
        panels.append(Panel(chart, WORDS[kind]))
    return Figure(
        "remedies",
        "99 % delivery delay with each remedy",
        "Delay from the write to the delivery in ms, on a logarithmic axis; further left is better. "
        "One dot per loss rate.",
        tuple(panels),
        tuple(Key(loss, colour) for loss, colour in colours.items()),
    )


def _savings(ranking: Ranking) -> Figure:
    shown = [name for name in ranking.order if "carriage" in REMEDIES[name]]
    rows = pl.DataFrame(
        [
            (each.kind, each.remedy, each.loss_percent, 100 - (each.bytes_percent.mean or 0.0))
            for each in ranking.measured
            if each.remedy in shown
        ],
        schema=["kind", "remedy", "loss", "saved"],
        orient="row",
    )
    colours = {name: OTHERS[index % len(OTHERS)] for index, name in enumerate(shown)}
    panels = []
    for kind in KINDS:
        chart = (
            alt.Chart(inline(rows.filter(pl.col("kind") == kind).drop("kind")))
            .mark_line(point=True, strokeWidth=1.5)
            .encode(
                x=alt.X("loss:Q", title="% loss"),
                y=alt.Y("saved:Q", title="%"),
                color=colour_by("remedy", colours),
            )
            .properties(height=180)
        )
        panels.append(Panel(chart, WORDS[kind]))
    return Figure(
        "savings",
        "Bytes saved against loss",
        f"IP bytes saved in both directions, in % of those of '{PLAIN}', against the loss rate in each direction; "
        "higher is better.",
        tuple(panels),
        tuple(Key(name, colour) for name, colour in colours.items()),
    )
