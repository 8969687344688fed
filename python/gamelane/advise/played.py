"""A simulated measurement as the records that a real one makes, so that both get the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from gamelane.advise import household
from gamelane.analysis import line
from gamelane.analysis.line import ACKNOWLEDGED, DELIVERED, DOWN, RECEIVED, RECORD, ROUND_TRIP, SENT, UP, Records
from gamelane.analysis.sender import ACK, PACKET, PAYLOAD, SACKED, UDP_IP_BYTES, Floats

PROBES = {household.GAME: line.GAME, household.CALL: line.CALL}
BACK = {"up": "down", "down": "up"}
LOAD = 2
SAMPLED_EVERY_S = 0.1


def records(frames: Mapping[str, pl.DataFrame]) -> tuple[Records, Records]:
    """Return the records of the client and of the server, from the tables of one run of `household.scenario`."""
    made: dict[int, list[Records]] = {UP: [], DOWN: []}
    for way, name in ((UP, "up"), (DOWN, "down")):
        sender, receiver = made[way], made[1 - way]
        arrived, lost = (frames[table].filter(direction=name).sort("t_s") for table in ("delay", "drops"))
        for flow, number in PROBES.items():
            own, gone = arrived.filter(flow=flow), lost.filter(flow=flow)
            sizes = frames["windows"].filter(flow=flow, direction=name).select(pl.col("bytes", "received").sum())
            size = round(sizes["bytes"][0] / max(sizes["received"][0], 1)) - UDP_IP_BYTES
            like = Like(way, number, size)
            receiver.append(like.records(RECEIVED, own["t_s"], own["one_way_ms"]))
            sender.append(like.records(SENT, pl.concat([own["t_s"] - own["one_way_ms"] / 1e3, gone["t_s"]])))
        loads = sorted(flow for flow in set(arrived["flow"].cast(str)) if household.loads(flow) == name)
        for stream, flow in enumerate(loads):
            own, gone = arrived.filter(flow=flow), lost.filter(flow=flow)
            receiver.append(Like(way, LOAD, PAYLOAD).records(RECEIVED, own["t_s"]))
            sender.append(_delivered(way, stream, *(each["t_s"].to_numpy() for each in (own, gone))))
            back = {"flow": flow, "direction": BACK[name]}
            sender.append(_acknowledged(way, stream, *(frames[table].filter(**back) for table in ("delay", "windows"))))
    trips = frames["rtt"].filter(flow=household.GAME)
    made[UP].append(Like(UP, line.GAME, 0).records(ROUND_TRIP, trips["t_s"], trips["rtt_ms"]))
    client, server = (np.sort(np.concatenate(made[end]), order="at") for end in (UP, DOWN))
    return client, server


@dataclass(frozen=True)
class Like:
    """What records of a flow in a direction have in common."""

    way: int
    flow: int
    payload: int

    def records(self, what: int, times_s: pl.Series, value_ms: pl.Series | None = None) -> Records:
        """Return a record for each time, numbered from 0."""
        found: Records = np.zeros(len(times_s), RECORD)
        found["what"], found["direction"], found["flow"], found["payload"] = what, self.way, self.flow, self.payload
        found["number"] = np.arange(len(found))
        found["at"] = times_s.to_numpy() * 1e9
        found["value"] = line.UNKNOWN if value_ms is None else value_ms.to_numpy() * 1e6
        return found


def _delivered(way: int, stream: int, times_s: Floats, lost_s: Floats) -> Records:
    """Return the sender's counts of the packets that arrived and were lost at these times, as it would sample them."""
    found = Like(way, LOAD, PACKET).records(DELIVERED, _sampled(times_s))
    found["number"] = stream
    found["value"], found["beside"] = (np.searchsorted(each, found["at"] / 1e9) for each in (times_s, lost_s))
    return found


def _acknowledged(way: int, stream: int, delay: pl.DataFrame, windows: pl.DataFrame) -> Records:
    """Return the sender's count of ACKs. How many had SACK blocks follows from the bytes of each second, evenly."""
    times_s = delay["t_s"].sort().to_numpy()
    found = Like(way, LOAD, ACK).records(ACKNOWLEDGED, _sampled(times_s))
    found["number"], found["value"] = stream, np.searchsorted(times_s, found["at"] / 1e9)
    counts, bytes_ = (windows[column].to_numpy().cumsum().astype(np.float64) for column in ("received", "bytes"))
    found["beside"] = np.interp(found["value"], counts, (bytes_ - ACK * counts) / SACKED)
    return found


def _sampled(times_s: Floats) -> pl.Series:
    """Return the times at which a sender would have looked."""
    return pl.Series(np.arange(times_s[0], times_s[-1] + SAMPLED_EVERY_S, SAMPLED_EVERY_S))
