"""Replays the writes of a capture's TCP connections over another TCP, link or gateway.

Writes are repeated at the times at which the capture first shows them. Retransmissions are left out. The players of the
capture reacted to their network; in the replay they do not react to the simulated one.

Only games can be replayed this way: their programs decide when to write. A transfer writes as fast as its own network
lets it, so its writes say nothing about another network. UDP has no writes to replay.
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
from gamelane.analysis.capture import analyze
from gamelane.errors import UsageError, aligned
from gamelane.experiment import Experiment
from gamelane.records.results import Results

FLOW = "replay"
"""Name of the flow in the scenario of a replay."""

LINGER_S = 5.0
"""Time that the run continues after the last write, so that the last losses can be repaired."""

LARGE = 1000
"""Mean bytes of a write from which a connection is a transfer: it fills packets. Games write a tenth of it."""

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Network:
    """The network to replay over, with values as in a scenario."""

    rtt: str = "0ms"
    loss: str = "0%"
    jitter: str = "0ms"
    down: str = "100mbit"
    up: str = "100mbit"


Stream = Mapping[str, Any]


def streams(capture: str) -> list[Stream]:
    """Return the writes of a capture's TCP connections in numbers. A capture that cannot be replayed is refused."""
    if capture == "-" or Path(capture).is_dir():
        raise UsageError(f"{capture}: replay needs one capture file, because it reads it more than once")
    try:
        found: list[Stream] = json.loads(_native.recorded_streams(capture))
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None
    to_players = [stream for stream in found if stream["down"]["bytes"]]
    if not to_players:
        raise UsageError(
            f"{capture}: no TCP connection in which a server sent data to its player\n{_advice(capture, found)}"
        )
    if all(map(_is_transfer, to_players)):
        raise UsageError(
            f"{capture}: its TCP connections are transfers, which send as fast as their own network lets them\n"
            f"{_advice(capture, found)}"
        )
    return found


def transfers(found: list[Stream]) -> int:
    """Return the number of connections that are transfers."""
    return sum(map(_is_transfer, found))


def _is_transfer(stream: Stream) -> bool:
    return any(stream[way]["bytes"] > LARGE * stream[way]["writes"] for way in ("up", "down"))


def _advice(capture: str, found: list[Stream]) -> str:
    """Return what the capture has, what can be replayed, and what to do."""
    datagrams = max(0, analyze([capture])["captures"][0]["flows_total"] - len(found))
    down, up = (sum(stream[way]["bytes"] for stream in found) for way in ("down", "up"))
    has = f"{_count(len(found), 'TCP connection')}"
    if found:
        has += f" with {_size(up)} to the server and {_size(down)} to the client"
    has += f", {_count(datagrams, 'UDP flow')}"
    hint = "record a game over TCP at its server or its player"
    if datagrams:
        hint = (
            f'to repeat a game over UDP, write a scenario with app = "game" and trace = "{Path(capture).name}"\n'
            "           (`gamelane run match-replay` is an example)"
        )
    return f"  found:   {has}\n  allowed: games over TCP, whose servers send small messages\n  hint:    {hint}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _size(size: int) -> str:
    for factor, unit in ((1_000_000, "MB"), (1000, "kB")):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def experiment(capture: str, found: list[Stream], network: Network) -> Experiment:
    """Return the scenario of a replay: one flow `replay`, with a connection for each of the capture's `streams`."""
    path = Path(capture)
    last = max(max(stream[way]["last_s"] for way in ("up", "down")) for stream in found)
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
    return Experiment(_native.Scenario.parse(text, str(file), []), str(path), str(path))


def happened(server_side: str, client_side: str) -> dict[str, Any]:
    """Return the lag of TCP data from first transmission to delivery, minus that of the fastest packet, from both ends.

    Milliseconds by direction: {"down": {"packets", "mean", "p50", "p95", "p99", "max"}, "up": …}. Quantiles are those
    of each connection, averaged by packets.
    """
    flows = analyze([server_side, client_side])["pair"]["flows"]
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


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name.lower()).strip("-")


def _quoted(text: str) -> str:
    return json.dumps(text)
