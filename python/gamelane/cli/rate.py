"""`gamelane rate`: the highest rate a scenario's link carries without queueing delay, found by trials."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.table import Table

from gamelane import _native, experiment
from gamelane.cli.talk import emit, stdout
from gamelane.cli.variants import overrides
from gamelane.errors import UsageError

LARGEST = 65_507
"""Bytes a UDP datagram may carry over IPv4."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rate")(rate)


def rate(
    scenario: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped scenario.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. link.up=2mbit. Repeatable."),
    ] = None,
    direction: Annotated[Literal["up", "down"], typer.Option(help="Which way.")] = "up",
    size: Annotated[int, typer.Option(min=1, max=LARGEST, metavar="BYTES", help="UDP payload of each packet.")] = 1470,
    length: Annotated[float, typer.Option(min=1, max=3600, metavar="S", help="Length of a trial, seconds.")] = 30,
    lowest: Annotated[int, typer.Option(min=1, metavar="KBIT", help="First rate tried, kbit/s.")] = 64,
    highest: Annotated[int, typer.Option(min=1, metavar="KBIT", help="No rate above this, kbit/s.")] = 1_000_000,
    resolution: Annotated[
        int, typer.Option(min=1, max=500, metavar="N", help="How near the two rates found come, in thousandths.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the first trial.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
) -> None:
    """Find the rate to shape to: trials of rising rate over the scenario's link alone, until one meets a queue."""
    if lowest > highest:
        raise UsageError(f"--lowest {lowest}: this is above --highest, {highest}\n  allowed: 1 to {highest}")
    chosen = experiment.load(scenario).with_(overrides(settings or [])).scenario
    found = _native.find_rate(
        chosen,
        direction,
        size,
        seed,
        length_s=length,
        lowest_bps=1000 * lowest,
        highest_bps=1000 * highest,
        resolution=resolution,
    )
    if json:
        emit({"scenario": chosen.name, "direction": direction, "payload": size, **found})
        return
    table = Table(box=None, pad_edge=False)
    for title in ("trial", "kbit/s", "packets", "lost", "delay p50, ms", "p95", ""):
        table.add_column(title, justify="left" if title == "" else "right")
    for index, trial in enumerate(found["trials"], 1):
        table.add_row(
            str(index),
            f"{trial['rate_bps'] / 1000:,.1f}",
            f"{trial['sent']:,}",
            f"{trial['lost']:,}",
            f"{trial['delay_ms_p50']:.1f}",
            f"{trial['delay_ms_p95']:.1f}",
            SHOWS[trial["shows"]],
        )
    stdout().print(table)
    stdout().print(_verdict(found, direction), highlight=False)


SHOWS = {"free": "no queue", "queue": "a queue", "too-few": "too few packets"}


def _verdict(found: _native.FoundRate, direction: str) -> str:
    free, queued = found["free_bps"], found["queued_bps"]
    if found["found"] == "above-highest":
        return "Even the highest rate met no queue: the link is faster, or --highest too low."
    if found["found"] == "below-lowest":
        return "Even the lowest rate met a queue: the link is slower, or --lowest too high."
    if free is None or queued is None:
        return "The search gave up: no rate was told from its neighbours."
    free_kbit = f"{free / 1000:,.1f} kbit/s"
    if found["found"] == "gave-up":
        return f"The search gave up between {free_kbit} and {queued / 1000:,.1f} kbit/s: the link does not hold still."
    shape = f'gateway.shape.{direction} = "{free // 1000}kbit"'
    return f"{free_kbit} without a queue, one at {queued / 1000:,.1f}; shape to it or a little less: {shape}"
