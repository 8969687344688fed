"""A simulated measurement as the records that a real one makes, so that both get the same figures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from gamelane.advise.household import CALL, GAME
from gamelane.analysis import line
from gamelane.analysis.bottleneck import PACKET, PAYLOAD, UDP_IP_BYTES
from gamelane.analysis.line import DELIVERED, DOWN, RECEIVED, RECORD, ROUND_TRIP, SENT, UP, Records

PROBES = {GAME: line.GAME, CALL: line.CALL}
LOAD = 2
SAMPLED_EVERY_S = 0.1


def records(frames: Mapping[str, pl.DataFrame]) -> tuple[Records, Records]:
    """Return the records of the client and of the server, from the tables of one run of `household.scenario`."""
    made: dict[int, list[Records]] = {UP: [], DOWN: []}
    delay, drops = frames["delay"].sort("t_s"), frames["drops"]
    for way, name in ((UP, "up"), (DOWN, "down")):
        arrived, lost = (frame.filter(pl.col("direction") == name) for frame in (delay, drops))
        for flow, number in PROBES.items():
            sizes = frames["windows"].filter(flow=flow, direction=name).select(pl.col("bytes", "received").sum())
            size = round(sizes["bytes"][0] / max(sizes["received"][0], 1)) - UDP_IP_BYTES
            own, gone = (frame.filter(pl.col("flow") == flow) for frame in (arrived, lost))
            made[1 - way].append(_records(RECEIVED, way, number, size, own["t_s"], own["one_way_ms"]))
            times = pl.concat([own["t_s"] - own["one_way_ms"] / 1e3, gone["t_s"]])
            made[way].append(_records(SENT, way, number, size, times))
        for stream, flow in enumerate(sorted(set(arrived["flow"].cast(str)) - PROBES.keys())):
            own, gone = (frame.filter(pl.col("flow") == flow) for frame in (arrived, lost))
            if f"load-{name}" not in flow and f"-{name}-" not in flow:
                continue  # its ACKs
            made[1 - way].append(_records(RECEIVED, way, LOAD, PAYLOAD, own["t_s"]))
            made[way].append(_delivered(way, stream, own["t_s"].to_numpy(), len(gone)))
    trips = frames["rtt"].filter(pl.col("flow") == GAME)
    made[UP].append(_records(ROUND_TRIP, UP, line.GAME, 0, trips["t_s"], trips["rtt_ms"]))
    client, server = (np.sort(np.concatenate(made[end]), order="at") for end in (UP, DOWN))
    return client, server


def _records(
    what: int, way: int, flow: int, payload: int, times_s: pl.Series, value_ms: pl.Series | None = None
) -> Records:
    found: Records = np.zeros(len(times_s), RECORD)
    found["what"], found["direction"], found["flow"], found["payload"] = what, way, flow, payload
    found["number"] = np.arange(len(found))
    found["at"] = times_s.to_numpy() * 1e9
    found["value"] = line.UNKNOWN if value_ms is None else value_ms.to_numpy() * 1e6
    return found


def _delivered(way: int, stream: int, times_s: np.ndarray, lost: int) -> Records:
    at = np.arange(times_s[0], times_s[-1] + SAMPLED_EVERY_S, SAMPLED_EVERY_S)
    found: Records = np.zeros(len(at), RECORD)
    found["what"], found["direction"], found["flow"], found["payload"] = DELIVERED, way, LOAD, PACKET
    found["number"], found["beside"], found["at"] = stream, lost, at * 1e9
    found["value"] = np.searchsorted(times_s, at)
    return found
