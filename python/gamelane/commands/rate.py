"""`gamelane rate`: finds the highest rate that a scenario's link carries without queueing delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.table import Table

from gamelane import _native
from gamelane.commands import household
from gamelane.errors import UsageError
from gamelane.terminal.talk import emit, stdout


def rate(
    scenario: str | None,
    settings: Sequence[str],
    plan: Sequence[str],
    with_: Sequence[str],
    policy: Sequence[str],
    router: Sequence[str],
    direction: Literal["up", "down"],
    size: int,
    length: float,
    lowest: int,
    highest: int,
    resolution: int,
    seed: int,
    json: bool,
) -> None:
    """Find the rate to shape a link to."""
    if lowest > highest:
        raise UsageError(f"--lowest {lowest}: must not be above --highest {highest}\n  allowed: 1 to {highest}")
    chosen = household.chosen(scenario, settings, plan=plan, with_=with_, policy=policy, router=router).scenario
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
        emit({"schema": 1, "scenario": chosen.name, "direction": direction, "payload": size, **found})
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
    below = [trial for trial in found["trials"] if trial["rate_bps"] <= (found["free_bps"] or 0)]
    if any(trial["shows"] == "loss" for trial in below):
        share = sum(trial["lost"] for trial in below) / sum(trial["sent"] for trial in below)
        stdout().print(
            f"The link itself loses {100 * share:.1f} % of the packets. No rate avoids that.", highlight=False
        )


SHOWS = {"free": "no queue", "queue": "a queue", "loss": "loss, no delay", "too-few": "too few packets"}


def _verdict(found: _native.FoundRate, direction: str) -> str:
    free, queued = found["free_bps"], found["queued_bps"]
    if found["found"] == "above-highest":
        return "No queue even at the highest rate. The link is faster than --highest: raise it."
    if found["found"] == "below-lowest":
        return "A queue even at the lowest rate. The link is slower than --lowest: lower it."
    if free is None or queued is None:
        return f"No rate found after {len(found['trials'])} trials."
    free_kbit, queued_kbit = f"{free / 1000:,.1f}", f"{queued / 1000:,.1f}"
    if found["found"] == "gave-up":
        tried = f"Stopped after {len(found['trials'])} trials between {free_kbit} and {queued_kbit} kbit/s"
        return f"{tried}: the rate of the link varies."
    shape = f'gateway.shape.{direction} = "{free // 1000}kbit"'
    return f"No queue at {free_kbit} kbit/s, a queue at {queued_kbit} kbit/s. Shape to this rate or below: {shape}"
