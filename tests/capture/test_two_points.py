"""Losses, delays and round trips between two points of a simulated run, against the simulator's own packets.

The simulator numbers the packets of each flow and direction, and writes the number as the IP identification. So two
captures show what happened to each packet. `GAMELANE_TWO_POINTS=all` runs the shipped scenarios at
their full length, but for `operator`, whose 100,000 connections take too long.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import os
import struct
from collections import Counter, defaultdict
from ipaddress import IPv4Address, ip_address, ip_network
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from gamelane import _native, library
from gamelane.analysis.capture import analyze

HOME = [ip_network("192.168.0.0/16"), ip_network("100.64.0.0/10")]
POINTS = ("lan", "wan", "server")
"""From home to the server's host."""
UPLOAD = {"duration": "5s", "flow.upload.start": "0s", "gateway.priority": '["quake3"]'}
SHORT: list[tuple[str, int, dict[str, str]]] = [
    # Delays of many seconds behind a large queue.
    ("match-replay", 1, {}),
    *(
        ("household", seed, {**UPLOAD, "gateway.*": f'{{ queue = "{queue}", limit = "60p" }}'})
        for seed, queue in enumerate(("fifo", "codel", "pie", "fq_codel", "fq_pie", "priority", "drr", "dualpi2"))
    ),
    # CAKE drops early in slow start, and so less often after it: twice the time has enough losses.
    (
        "household",
        9,
        {**UPLOAD, "duration": "10s", "gateway.*": '{ queue = "cake", limit = "90000B", acks = "filter" }'},
    ),
    ("lossy-path", 1, {"duration": "2s", "link.loss": "3%"}),
    ("wifi", 1, {"duration": "4s", "warmup": "0s", "link.jitter": "20ms"}),
    ("docsis", 1, {"duration": "8s", "warmup": "0s"}),
    ("priority", 1, {"duration": "8s", "warmup": "0s"}),
    ("classes", 1, {"duration": "8s", "warmup": "0s"}),
    ("hosted-match", 1, {"duration": "5s"}),
    ("voip-and-upload", 1, {"duration": "5s"}),
    # The gateway lowers the windows of ACKs.
    ("voap", 1, {"duration": "2s", "warmup": "0s"}),
    ("griwodz2006", 3, {"duration": "60s", "flow.players.connections": "5", "flow.players.loss": "10%"}),
]
"""Scenario, seed, overrides."""

LONG: list[tuple[str, int, dict[str, str]]] = [
    (name, seed, {})
    for name in library.shipped()
    for seed in (1, 4)
    if name != "operator" and os.environ.get("GAMELANE_TWO_POINTS") == "all"
]


class Passed(NamedTuple):
    """A packet at a point."""

    source: str
    target: str
    number: int
    payload: bool
    at_ns: int


def read(path: Path) -> list[Passed]:
    """Return the packets of a capture that the simulator wrote: raw IPv4, nanoseconds."""
    data, at, packets = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", data, at + 12)
            size, number = struct.unpack_from(">HH", data, at + 30)
            protocol = data[at + 37]
            source, target = (IPv4Address(data[at + place : at + place + 4]) for place in (40, 44))
            ports = struct.unpack_from(">HH", data, at + 48)
            header = 8 if protocol == 17 else (data[at + 60] >> 4) * 4
            ends = f"{source}:{ports[0]}", f"{target}:{ports[1]}"
            packets.append(Passed(*ends, number, size > 20 + header, high << 32 | low))
        at += length
    return packets


class Way(NamedTuple):
    """Packets of one direction of a flow: number, kind and time at the sender's and at the receiver's point."""

    sent: dict[int, tuple[bool, int]]
    received: dict[int, tuple[bool, int]]

    def delays(self) -> list[int]:
        return [self.received[number][1] - at for number, (_, at) in self.sent.items() if number in self.received]

    def lost(self) -> list[int]:
        return [number for number in self.sent if number not in self.received]

    def undecidable(self) -> int:
        """Lost packets of which no packet of the same kind was sent before or after and arrived."""
        arrived = defaultdict(list)
        for number, (payload, _) in self.sent.items():
            if number in self.received:
                arrived[payload].append(number)
        return sum(
            not arrived[payload] or not arrived[payload][0] < number < arrived[payload][-1]
            for number, (payload, _) in self.sent.items()
            if number not in self.received
        )


@functools.cache
def at_home(end: str) -> bool:
    address = ip_address(end.rsplit(":", 1)[0])
    return any(address in network for network in HOME)


def ways(near: list[Passed], far: list[Passed]) -> dict[tuple[str, str], Way]:
    """Return the directions of all flows; `near` is the point closer to home."""
    found: dict[tuple[str, str], Way] = defaultdict(lambda: Way({}, {}))
    for point, packets in enumerate((near, far)):
        latest: dict[tuple[str, str], int] = defaultdict(int)
        for packet in packets:
            ends = packet.source, packet.target
            seen = found[ends].sent if at_home(packet.source) == (point == 0) else found[ends].received
            # The identification has 16 bit.
            number = latest[ends] + (packet.number - latest[ends] + 0x8000) % 0x10000 - 0x8000
            latest[ends] = number
            assert number not in seen
            seen[number] = packet.payload, packet.at_ns
    return found


def run(name: str, seed: int, overrides: dict[str, str], folder: Path) -> _native.Run:
    path = library.find(name)
    scenario = _native.Scenario.parse(library.text_of(path), str(path), list(overrides.items()))
    finished = _native.run(scenario, seed, packets=True)
    for point in POINTS:
        finished.write_pcapng(str(folder / point), point)
    return finished


def check_direction(found: dict[str, Any], way: Way) -> Counter[str]:
    """Compare one direction of one flow. Return what there was to count."""
    lost, delays = way.lost(), way.delays()
    assert found["unknown"] is None
    assert found["seen"] == len(way.sent)
    assert found["sent"] - found["lost"] == len(delays)
    assert (found["unsent"], found["duplicated"]) == (0, 0)
    # What is neither lost nor arrived was sent where the other capture shows nothing of its kind.
    untold = found["seen"] - found["sent"]
    assert found["lost"] + untold == len(lost)
    assert untold <= way.undecidable()
    assert found["undecided"] <= untold
    highest = late = 0
    for number in sorted(delays and way.received, key=lambda number: way.received[number][1]):
        late += number < highest
        highest = max(highest, number)
    counts = Counter(sent=len(way.sent), lost=len(lost), untold=untold, reordered=late)
    assert found["clock_drift_ppm"] is None
    if delays:
        least = min(delays)
        middle = sorted(delays)[len(delays) // 2]
        assert found["clock_difference_ms"] == {"least": least / 1e6, "median": middle / 1e6}
        above = found["delay_above_least_ms"]
        extra = [delay - least for delay in delays]
        assert above["count"] == len(extra)
        assert above["max"] == max(extra) / 1e6
        assert isclose(above["mean"], sum(extra) / len(extra) / 1e6, rel_tol=1e-12)
        squares = len(extra) * sum(one * one for one in extra) - sum(extra) ** 2
        if len(extra) > 1:
            deviation = (squares / (len(extra) * (len(extra) - 1))) ** 0.5 / 1e6
            assert isclose(above["sd"], deviation, rel_tol=1e-9, abs_tol=1e-12)
        counts["slowest_ms"] = max(delays) // 1_000_000
    return counts


def check_round_trips(found: dict[str, Any], up: Way, down: Way) -> None:
    """Compare the synthetic packet pairs of a flow: the last packet up before each packet down."""
    arrivals = sorted((up.received[number][1], at) for number, (_, at) in up.sent.items() if number in up.received)
    answers = sorted((at, down.received[number][1]) for number, (_, at) in down.sent.items() if number in down.received)
    trips, used = [], 0
    for left, reached in answers:
        seen = bisect.bisect_right(arrivals, left, key=lambda arrival: arrival[0])
        if seen > used and left - arrivals[seen - 1][0] <= 60_000_000_000:
            trips.append(reached - left + arrivals[seen - 1][0] - arrivals[seen - 1][1])
        used = max(used, seen)
    assert found["count"] == len(trips)
    if trips:
        assert (found["min"], found["max"]) == (min(trips) / 1e6, max(trips) / 1e6)
        assert isclose(found["mean"], sum(trips) / len(trips) / 1e6, rel_tol=1e-12)


def check(name: str, seed: int, overrides: dict[str, str], folder: Path) -> Counter[str]:
    """Compare all pairs of points of a run with the simulator's packets."""
    finished = run(name, seed, overrides, folder)
    captured = {point: read(folder / point) for point in POINTS}
    drops = pl.DataFrame(finished.table("drops")).group_by("reason").len()
    dropped = {str(reason): count for reason, count in drops.iter_rows()}
    total: Counter[str] = Counter(runs=1)
    for near, far in itertools.combinations(POINTS, 2):
        truth = ways(captured[near], captured[far])
        counts: Counter[str] = Counter()
        for first, second in ((near, far), (far, near)):
            document = analyze([str(folder / first), str(folder / second)])
            counts = Counter()
            assert document["pair"]["clock_drift_ppm"] is None
            listed = set()
            for flow in document["pair"]["flows"]:
                client, server = flow["client"], flow["server"]
                listed |= {(client, server), (server, client)}
                if flow["near_client"] is not None:
                    assert flow["near_client"] == (at_home(client) != (first == near)), flow["client"]
                there, back = truth.get((client, server), Way({}, {})), truth.get((server, client), Way({}, {}))
                check_round_trips(flow["rtt_ms"], there, back)
                for ends, found in (((client, server), flow["up"]), ((server, client), flow["down"])):
                    found_here = check_direction(found, truth.get(ends, Way({}, {})))
                    counts["slowest_ms"] = max(counts["slowest_ms"], found_here.pop("slowest_ms", 0))
                    counts += found_here
            # A flow is compared only if both captures have it.
            for ends, way in truth.items():
                if ends not in listed:
                    assert not way.received
                    counts["lost"] += len(way.lost())
            if (near, far) == ("lan", "server"):
                own = pl.DataFrame(finished.table("rtt"))["rtt_ms"]
                trips = [flow["rtt_ms"]["count"] for flow in document["pair"]["flows"]]
                # If a packet arrives in the nanosecond in which the server sends, a capture does not show the order.
                ties = 0
                for ends, way in truth.items():
                    arrivals = {at for _, at in way.received.values()} if at_home(ends[0]) else set()
                    ties += sum(at in arrivals for _, at in truth.get(ends[::-1], Way({}, {})).sent.values())
                assert abs(sum(trips) - len(own)) <= ties
                counts["trips"], counts["ties"] = len(own), ties
        reasons = {"lan wan": dropped.keys() - {"path"}, "wan server": dropped.keys() & {"path"}}
        expected = reasons.get(f"{near} {far}", dropped.keys())
        assert counts["lost"] == sum(dropped[reason] for reason in expected)
        total["slowest_ms"] = max(total["slowest_ms"], counts.pop("slowest_ms", 0))
        total += counts
    return total


@pytest.mark.parametrize(("name", "seed", "overrides"), [*SHORT, *LONG], ids=lambda value: str(value)[:40])
def test_every_packet_between_two_points_is_the_simulators(
    name: str, seed: int, overrides: dict[str, str], tmp_path: Path
) -> None:
    counts = check(name, seed, overrides, tmp_path)
    assert counts["sent"] > 500
    if (name, seed) == ("match-replay", 1):
        assert counts["slowest_ms"] > 9000
        assert counts["lost"] > 100


@pytest.mark.parametrize(
    ("name", "seed", "overrides"), [SHORT[0], SHORT[3], SHORT[5], *SHORT[9:11]], ids=lambda value: str(value)[:40]
)
def test_losses_are_counted_without_identification(
    name: str, seed: int, overrides: dict[str, str], tmp_path: Path
) -> None:
    # As in IPv6, and in IPv4 of some systems. Then many of the simulator's datagrams have the same content.
    run(name, seed, overrides, tmp_path)
    near, far = tmp_path / "lan", tmp_path / "server"
    truth = ways(read(near), read(far))
    for path in (near, far):
        data, at = bytearray(path.read_bytes()), 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if kind == 6:
                data[at + 32 : at + 34] = bytes(2)
            at += length
        path.write_bytes(data)
    document = analyze([str(near), str(far)])
    lost = 0
    for flow in document["pair"]["flows"]:
        for ends, found in (
            ((flow["client"], flow["server"]), flow["up"]),
            ((flow["server"], flow["client"]), flow["down"]),
        ):
            way = truth.get(ends, Way({}, {}))
            assert (found["unsent"], found["duplicated"]) == (0, 0)
            assert found["sent"] - found["lost"] == len(way.delays())
            assert len(way.lost()) - found["lost"] == found["seen"] - found["sent"] <= way.undecidable()
            lost += found["lost"]
    assert lost > 20
