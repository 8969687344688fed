"""The same packets handed to the recorder by every engine give the same summaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gamelane import _native
from tests.lab.record_files import RECEIVED, RECORD, SENT
from tests.records import tap_files

SCENARIO = """
name = "ways-in"
duration = "8s"
warmup = "2s"
[link]
down = "2mbit"
up = "500kbit"
rtt = "40ms"
[gateway]
up = { queue = "fifo", limit = "20p" }
[[flow]]
name = "call"
app = "voip"
codec = "g711"
[[flow]]
name = "flood"
app = "udp"
direction = "up"
rate = "600kbit"
size = "500B"
start = "1s"
stop = "6s"
"""
HEADERS = 28  # IPv4 and UDP
IP_BYTES = {"call": 200, "flood": 528}
"""IP length of every packet of these flows, in both directions."""


@pytest.fixture(scope="module")
def scenario() -> _native.Scenario:
    return _native.Scenario.parse(SCENARIO, "ways-in.toml", [])


@pytest.fixture(scope="module")
def simulated(scenario: _native.Scenario) -> _native.Run:
    return _native.run(scenario, 3)


@pytest.fixture(scope="module")
def packets(simulated: _native.Run) -> pl.DataFrame:
    """Return every packet, times in nanoseconds. With a tail drop upstream, a packet is lost when it is sent."""
    arrived = pl.DataFrame(simulated.table("delay")).select(
        pl.col("flow", "direction").cast(pl.String),
        arrived=(pl.col("t_s") * 1e9).round().cast(pl.Int64),
        took=(pl.col("one_way_ms") * 1e6).round().cast(pl.Int64),
        waited=(pl.col("queue_delay_ms") * 1e6).round().cast(pl.Int64),
    )
    lost = pl.DataFrame(simulated.table("drops"))
    assert set(lost["reason"]) == {"tail"}
    assert set(lost["direction"]) == {"up"}
    dropped = lost.select(
        pl.col("flow", "direction").cast(pl.String),
        arrived=pl.lit(-1, dtype=pl.Int64),
        sent=(pl.col("t_s") * 1e9).round().cast(pl.Int64),
        waited=pl.lit(0, dtype=pl.Int64),
    )
    assert len(dropped) > 100
    sent = arrived.select("flow", "direction", "arrived", (pl.col("arrived") - pl.col("took")).alias("sent"), "waited")
    return pl.concat([sent, dropped])


def _numbers(run: _native.Run) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(run.summary_json())
    return summary


def _frame(run: _native.Run, table: str) -> pl.DataFrame:
    return pl.DataFrame(run.table(table))


def test_the_lab(scenario: _native.Scenario, simulated: _native.Run, packets: pl.DataFrame) -> None:
    recording = _native.Recording(scenario)
    for (flow, direction), own in packets.group_by("flow", "direction"):
        number = ("call", "flood").index(str(flow))
        length = IP_BYTES[str(flow)]
        sent_ns, arrived_ns, waited_ns = (own[name].to_numpy() for name in ("sent", "arrived", "waited"))
        lengths = np.full(len(own), length, dtype=np.uint32)
        unmarked = np.zeros(len(own), dtype=np.bool_)
        recording.packets(
            number,
            str(direction),
            np.zeros(len(own), dtype=np.uint32),
            sent_ns,
            arrived_ns,
            waited_ns,
            lengths,
            unmarked,
        )
        for sent, arrived in own.select("sent", "arrived").iter_rows():
            if arrived < 0:
                recording.drop(number, str(direction), sent, sent, length, "tail")
            else:
                recording.goodput(number, arrived, length - HEADERS)
    ours, theirs = _numbers(recording.finish(3, 0.0)), _numbers(simulated)
    for flow in theirs["flows"].values():
        flow["timeouts"] = None  # the lab cannot count them
    assert ours["flows"] == theirs["flows"]


def test_the_generator(
    scenario: _native.Scenario, simulated: _native.Run, packets: pl.DataFrame, tmp_path: Path
) -> None:
    ends: dict[str, list[tuple[int, ...]]] = {"client": [], "server": []}
    for (flow, direction), own in packets.group_by("flow", "direction"):
        place = ("call", "flood").index(str(flow))
        way = ("up", "down").index(str(direction))
        sender, receiver = ("client", "server") if way == 0 else ("server", "client")
        payload = IP_BYTES[str(flow)] - HEADERS
        for number, (sent, arrived) in enumerate(own.select("sent", "arrived").iter_rows()):
            common = (way, place, payload, 10 + place, number, 0)
            ends[sender].append((SENT, *common, BEGAN + sent, 0))
            if arrived >= 0:
                ends[receiver].append((RECEIVED, *common, BEGAN + arrived, arrived - sent))
    # The match begins with the client's first packet, so one packet is due at time zero.
    first = min(record[7] for record in ends["client"])
    ends["client"].append((3, 1, 0, 0, 10, 0, 0, BEGAN, 0))
    assert first >= BEGAN
    for end, records in ends.items():
        np.array(records, dtype=RECORD).tofile(tmp_path / end)
    run = _native.played(scenario, 3, str(tmp_path / "client"), str(tmp_path / "server"))
    ours, theirs = _numbers(run), _numbers(simulated)
    for name, flow_seen in ours["flows"].items():
        for end in ("up", "down"):
            seen, known = dict(flow_seen[end]), dict(theirs["flows"][name][end])
            assert set(seen.pop("queue_delay_ms").values()) == {None}, "no end of a match sees a queue"
            del known["queue_delay_ms"]
            assert seen == known, (name, end)
        assert flow_seen["goodput_bps"] == theirs["flows"][name]["goodput_bps"]
    counts = ("sent", "received", "lost", "marked", "bytes")
    assert _frame(run, "windows").select(counts).equals(_frame(simulated, "windows").select(counts))
    assert set(_frame(run, "drops")["reason"]) == {"path"}


def test_the_gateway(scenario: _native.Scenario, simulated: _native.Run, packets: pl.DataFrame, tmp_path: Path) -> None:
    # The gateway shapes to the rate of the link, so it decides about every packet as the simulated queue did.
    passed = [
        tap_files.Packet(
            direction=("up", "down").index(direction),
            port=PORTS[flow],
            length=IP_BYTES[flow],
            came_ns=sent,
            left_ns=None if arrived < 0 else sent + waited,
        )
        for flow, direction, arrived, sent, waited in packets.iter_rows()
    ]
    tap_files.write(tmp_path / "tap", SCENARIO, [("gateway.shape.up", "500kbit")], passed, END_NS)
    run, duration_s, ended, _policy = _native.tapped(str(tmp_path / "tap"))
    assert (duration_s, ended) == (8.0, "whole")
    ours, theirs = _numbers(run), _numbers(_at_the_gateway(scenario, passed))
    assert list(ours["flows"]) == [tap_files.name(port) for port in (PORTS["call"], PORTS["flood"])]
    for name, port in PORTS.items():
        seen, known = ours["flows"][tap_files.name(port)], theirs["flows"][name]
        # One point cannot know what the hosts run, their TCP, and the time between them.
        assert seen["app"] == {"call": "real-time", "flood": "other"}[name]
        assert seen["rtt_samples"] == 0
        unknown = ("retransmissions", "timeouts", "rtt_deviation_ms")
        assert [seen[key] for key in unknown] == [None, None, None]
        for distribution in (seen["rtt_ms"], seen["up"]["jitter_ms"], seen["down"]["jitter_ms"]):
            assert set(distribution.values()) == {None}
        for summary in (seen, known):
            for key in (*unknown, "app", "rtt_samples", "rtt_ms"):
                del summary[key]
            for direction in ("up", "down"):
                del summary[direction]["jitter_ms"]
        assert seen == known, name
    assert ours["queues"]["up"] == _numbers(simulated)["queues"]["up"]
    for table in ("windows", "drops", "queues"):
        assert len(_frame(run, table)) > 0
    delay = _frame(run, "delay")
    assert delay["one_way_ms"].is_null().all()
    assert delay["queue_delay_ms"].is_not_null().all()


def _at_the_gateway(scenario: _native.Scenario, passed: list[tap_files.Packet]) -> _native.Run:
    """Hand the packets over as the lab does, as if they arrived when they left the gateway."""
    keys = {"warmup": "0s"}
    for name, port in PORTS.items():
        times = [packet.came_ns for packet in passed if packet.port == port]
        keys |= {f"flow.{name}.start": f"{min(times)}ns", f"flow.{name}.stop": f"{max(times)}ns"}
    recording = _native.Recording(scenario.with_overrides(list(keys.items())))
    for number, (name, port) in enumerate(PORTS.items()):
        for way, direction in enumerate(("up", "down")):
            own = [packet for packet in passed if (packet.port, packet.direction) == (port, way)]
            came = np.array([packet.came_ns for packet in own], dtype=np.int64)
            left = np.array([-1 if packet.left_ns is None else packet.left_ns for packet in own], dtype=np.int64)
            lengths = np.full(len(own), IP_BYTES[name], dtype=np.uint32)
            unmarked = np.zeros(len(own), dtype=np.bool_)
            recording.packets(
                number,
                direction,
                np.zeros(len(own), dtype=np.uint32),
                came,
                left,
                np.maximum(left - came, 0),
                lengths,
                unmarked,
            )
            for packet in own:
                if packet.left_ns is None:
                    recording.drop(number, direction, packet.came_ns, packet.came_ns, packet.length, "tail")
                else:
                    recording.goodput(number, packet.left_ns, packet.length - HEADERS)
    return recording.finish(3, 0.0)


PORTS = {"call": 5004, "flood": 9000}
END_NS = 8_000_000_000
BEGAN = 5_000_000_000_000
