"""Replays a capture's writes over its measured path with each remedy for thin TCP streams.

The replay is open loop. Its losses are random and equally likely in each direction, and its TCP sender may differ from
the capture's. Remedies are therefore compared with a replay without remedy, not with the capture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamelane import replay
from gamelane.analysis.capture_facts import THIN_TCP
from gamelane.errors import UsageError
from gamelane.experiment import Hooks, compare

KEY = "flow.replay.tcp"
NONE = "none"
REMEDIES = {
    NONE: {f"{KEY}.linear_timeouts": "false"},
    "linear-timeouts": {f"{KEY}.linear_timeouts": "true"},
    "modified-rto": {f"{KEY}.timer": "modified"},
    "bundling": {f"{KEY}.rdb": "true"},
}


def remedies(found: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    """Replay the first capture with each remedy. Return the lag until delivery by direction, and the share saved."""
    capture = found["captures"][0]
    thin = [flow for flow in capture["flows"] if flow["kind"] == THIN_TCP]
    if capture["file"] == "-" or not thin:
        raise UsageError(
            f"--remedies: {capture['file']} has no thin TCP connection to replay\n"
            "  hint:    give a capture file with a game over TCP; standard input does not work here"
        )
    rtt_ms, loss = _round_trip(found, thin), _loss(found, thin)
    network = replay.Network(rtt=f"{rtt_ms:.3f}ms", loss=f"{100 * loss:.3f}%")
    experiment = replay.experiment(capture["file"], replay.streams(capture["file"]), network)
    results = compare(experiment, REMEDIES, seeds=seeds, hooks=Hooks())
    simulated = replay.simulated(results)
    plain = _lag_ms(simulated[NONE])
    return {
        "capture": capture["file"],
        "rtt_ms": rtt_ms,
        "loss": loss,
        "variants": {
            name: {**ways, "lag_ms": _lag_ms(ways), "saved": 1 - _lag_ms(ways) / plain if plain else None}
            for name, ways in simulated.items()
        },
    }


def sentence(of: Mapping[str, Any]) -> str:
    """Return the result as a sentence."""
    parts = [
        f"{name.replace('-', ' ')} {100 * variant['saved']:.0f} %"
        for name, variant in of["variants"].items()
        if name != NONE and variant["saved"] is not None
    ]
    if not parts:
        return "In the replay no data was late."
    return (
        f"In a replay with {of['rtt_ms']:.1f} ms RTT and {100 * of['loss']:.1f} % loss in each direction, remedies "
        f"reduced the lag until delivery: {', '.join(parts)}."
    )


def _round_trip(found: Mapping[str, Any], thin: list[Mapping[str, Any]]) -> float:
    pairs = found["pair"]["flows"] if found["pair"] else []
    trips = [flow["rtt_ms"]["p50"] for flow in pairs] or [flow["tcp"]["rtt_ms"]["p50"] for flow in thin]
    known = sorted(trip for trip in trips if trip is not None)
    return known[len(known) // 2] if known else 0.0


def _loss(found: Mapping[str, Any], thin: list[Mapping[str, Any]]) -> float:
    ways = [flow[way] for flow in (found["pair"]["flows"] if found["pair"] else []) for way in ("up", "down")]
    ways = [way for way in ways if way["lost"] is not None]
    if ways:
        return float(sum(way["lost"] for way in ways) / max(sum(way["sent"] for way in ways), 1))
    halves = [flow["tcp"][way] for flow in thin for way in ("up", "down")]
    data = sum(half["data_packets"] for half in halves)
    return float(sum((half["loss_estimate"] or 0) * half["data_packets"] for half in halves) / max(data, 1))


def _lag_ms(ways: Mapping[str, Mapping[str, Any]]) -> float:
    return float(sum(way["mean"] * way["packets"] for way in ways.values()))
