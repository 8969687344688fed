"""Replays the writes of a capture's TCP connections over another TCP, link or gateway.

Writes are repeated at the times at which the capture first shows them. Retransmissions are left out. The players of the
capture reacted to their network; in the replay they do not react to the simulated one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gamelane import _native
from gamelane.errors import UsageError
from gamelane.experiment import Experiment
from gamelane.records.results import Results

FLOW = "replay"
"""Name of the flow in the scenario of a replay."""

LINGER_S = 5.0
"""Time that the run continues after the last write, so that the last losses can be repaired."""

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Network:
    """The network to replay over, with values as in a scenario."""

    rtt: str = "0ms"
    loss: str = "0%"
    jitter: str = "0ms"
    down: str = "100mbit"
    up: str = "100mbit"


def experiment(capture: str, network: Network) -> Experiment:
    """Return the scenario of a replay: one flow `replay`, with a connection for each TCP connection of the capture."""
    path = Path(capture)
    streams = _streams(path)
    last = max(max(stream[way]["last_s"] for way in ("up", "down")) for stream in streams)
    text = f"""name = "{_plain(path.stem)}"
question = "How late would the messages of {path.name} be over another TCP, link or gateway?"
duration = "{math.ceil(last + LINGER_S)}s"

[link]
down = {_quoted(network.down)}
up = {_quoted(network.up)}
rtt = {_quoted(network.rtt)}

[gateway]
up = {{ queue = "fifo", limit = "1000p" }}
down = {{ queue = "fifo", limit = "1000p" }}

[[flow]]
name = "{FLOW}"
app = "mmo"
trace = {_quoted(path.name)}
loss = {_quoted(network.loss)}
path_jitter = {_quoted(network.jitter)}

[flow.tcp]
nagle = false
merge_writes = true
window_counts = "segments"
"""
    file = path.parent / f"replay of {path.name}"
    return Experiment(_native.Scenario.parse(text, str(file), []), str(path))


def happened(server_side: str, client_side: str) -> dict[str, Any]:
    """Return the lag of TCP data from first transmission to delivery, minus that of the fastest packet, from both ends.

    Milliseconds by direction: {"down": {"packets", "mean", "p50", "p95", "p99", "max"}, "up": …}. Quantiles are those
    of each connection, averaged by packets.
    """
    flows = json.loads(_native.compare_captures(server_side, client_side))["pair"]["flows"]
    found: dict[str, Any] = {}
    for way in ("down", "up"):
        lags = [flow[way]["delivery"]["lag_ms"] for flow in flows if flow[way].get("delivery")]
        packets = sum(lag["count"] for lag in lags)
        if packets == 0:
            raise UsageError(
                f"{server_side} and {client_side}: these captures have no TCP data in common\n"
                "  hint:    capture both ends of the same path at the same time"
            )
        names = ("mean", *QUANTILES)
        found[way] = {"packets": packets, "max": max(lag["max"] for lag in lags)}
        found[way] |= {name: sum(lag[name] * lag["count"] for lag in lags) / packets for name in names}
    return found


def simulated(results: Results) -> dict[str, dict[str, Any]]:
    """Return the same for each variant of a replay: message delay minus the lowest one, averaged over players."""
    found: dict[str, dict[str, Any]] = {}
    frame = results.deliveries.with_columns(
        (pl.col("delay_ms") - pl.col("delay_ms").min().over("variant", "direction")).alias("lag")
    )
    for (variant, way), rows in frame.group_by("variant", "direction", maintain_order=True):
        players = rows.group_by("seed", "player").agg(
            pl.len().alias("packets"),
            pl.col("lag").mean().alias("mean"),
            pl.col("lag").max().alias("max"),
            *(pl.col("lag").quantile(q, "linear").alias(name) for name, q in QUANTILES.items()),
        )
        total = int(players["packets"].sum())
        row: dict[str, Any] = {"packets": total, "max": players["max"].max()}
        row |= {name: float((players[name] * players["packets"]).sum() / total) for name in ("mean", *QUANTILES)}
        found.setdefault(str(variant), {})[str(way)] = row
    return found


def _streams(path: Path) -> list[Mapping[str, Any]]:
    try:
        streams: list[Mapping[str, Any]] = json.loads(_native.recorded_streams(str(path)))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not streams:
        raise UsageError(
            f"{path}: no TCP connection in this capture\n"
            '  hint:    to repeat a UDP flow, use a scenario with app = "trace"'
        )
    return streams


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name.lower()).strip("-")


def _quoted(text: str) -> str:
    return json.dumps(text)
