"""Packets that were seen, made into tables: by hand, without a lab."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gamelane import _native
from gamelane.analysis.capture import analyze
from gamelane.lab import pcapng, taps
from gamelane.lab.plan import Plan, plan
from gamelane.lab.sampler import Samples
from gamelane.lab.tables import Fate, Seen, columns, fates, goodput
from gamelane.lab.taps import NOWHERE, Passage
from gamelane.records.frames import REASONS

SCENARIO = """
name = "by-hand"
duration = "2s"
[link]
down = "10mbit"
up = "1mbit"
rtt = "40ms"
[[flow]]
name = "game"
app = "game"
model = "quake3"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
"""
MS = 1_000_000
BEGAN = 1_000_000_000 * MS
PORT = 40_001


@pytest.fixture
def planned() -> Plan:
    return plan(_native.Scenario.parse(SCENARIO, "by-hand.toml", []), "by-hand.toml")


def passage(up: bool, *at_ms: float | None, **more: object) -> Passage:
    """Sent, into the gateway, out of it, arrived."""
    ns = [NOWHERE if at is None else BEGAN + round(at * MS) for at in at_ms]
    values = {"length": 100, "marked": False, "tcp": None, **more}
    return Passage(up, ns[0], ns[1], ns[2], ns[3], **values)  # type: ignore[arg-type]


def of(planned: Plan, game: list[Passage], upload: list[Passage], samples: Samples | None = None) -> list[Fate]:
    return fates(planned, [game, upload], samples or Samples(), BEGAN)


def test_a_packet_is_lost_where_it_was_seen_last(planned: Plan) -> None:
    samples = Samples(drops=[(0, 0, 0, "tail", 1), (1, 0, 0, "aqm-dequeue", 1)])
    game = [
        passage(True, 1, 2, 12, 32),
        passage(True, 10, 11, None, None),
        passage(True, 20, 21, None, None),
        passage(True, 30, 31, None, None),
        passage(True, 40, 41, 42, None),
        passage(False, 50, None, None, None),
        passage(True, 1990, 1991, 1999, 2019),
        passage(True, 1995, 1996, 2004, None),
        passage(True, 2001, 2002, 2003, 2023),
    ]
    found = of(planned, game, [], samples)
    reasons = [None if fate.reason is None else REASONS[fate.reason] for fate in found]
    # The fourth still waits: nobody said it was dropped. What was on its way at the end is not lost either.
    assert reasons == [None, "tail", "aqm-dequeue", None, "link", "path", None, None]
    assert [fate.arrived_ns for fate in found] == [32 * MS, *[None] * 7]
    tables = columns(Seen(planned, found, samples, [], 0, {}))
    windows = tables["windows"]
    up = (windows["flow"] == 0) & (windows["direction"] == 0)
    assert windows["sent"][up].tolist() == [5, 2]
    assert windows["lost"][up].tolist() == [3, 0]
    assert windows["received"][up].tolist() == [1, 0]
    assert tables["delay"]["queue_delay_ns"].tolist() == [10 * MS]
    assert tables["drops"]["t_ns"].tolist() == [11 * MS, 21 * MS, 42 * MS, 50 * MS]


def test_round_trips_are_of_packet_pairs(planned: Plan) -> None:
    game = [
        passage(True, 0, 0, 5, 25),
        passage(True, 10, 10, 10, 30),
        passage(False, 40, 60, 61, 62),
        passage(False, 45, 65, 66, 67),
        passage(True, 50, 50, 50, 70),
        passage(False, 90, 110, 111, 112),
    ]
    rtt = columns(Seen(planned, of(planned, game, []), Samples(), [], 0, {}))["rtt"]
    # The first answer to reach home pairs with the latest packet before it; the second has nothing new to answer.
    assert rtt["rtt_ns"].tolist() == [(20 + 22) * MS, (20 + 22) * MS]
    assert rtt["t_ns"].tolist() == [62 * MS, 112 * MS]


def test_goodput_is_what_was_acknowledged_across_the_turn_of_numbers(planned: Plan) -> None:
    def acknowledgement(at: float, number: int, port: int = PORT) -> Passage:
        return passage(False, at, at, at, at, tcp=(5201, port, 0x10, number, 0))

    upload = [
        acknowledgement(1, 2**32 - 500),
        acknowledgement(2, 1000),
        acknowledgement(3, 900),
        acknowledgement(4, 2000),
    ]
    upload.append(acknowledgement(5, 7777, port=50_000))  # iperf3's own connection
    found = of(planned, [passage(True, 1, 1, 1, 21)], upload)
    assert goodput(found, warmup_ns=0) == {0: 72, 1: 2500}
    assert goodput(found, warmup_ns=3 * MS) == {0: 72, 1: 1000}, "what a warm-up delivered is none"
    assert len(found) == 5


def _frame(payload: bytes, tos: int = 0) -> bytes:
    udp = struct.pack("!HHHH", 5000, 27960, 8 + len(payload), 0) + payload
    addresses = bytes([10, 77, 1, 1]) + bytes([10, 77, 2, 1])
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(udp), 7, 0, 64, 17, 0)
    return bytes(12) + b"\x08\x00" + head + addresses + udp


def _pcap(path: Path, frames: list[tuple[int, bytes]]) -> Path:
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)
    records = (struct.pack("<IIII", *divmod(at, 10**9), len(frame), len(frame)) + frame for at, frame in frames)
    path.write_bytes(head + b"".join(records))
    return path


def test_a_packet_is_known_again_although_its_header_changed(tmp_path: Path) -> None:
    data, control = b"\x8d" + bytes(range(60)), b"\x01\x01"
    path = _pcap(tmp_path / "tap.pcap", [(5, _frame(data)), (9, _frame(data, tos=3)), (11, _frame(control))])
    first, second = taps._packets(path)
    assert first.key == second.key
    assert (first.marked, second.marked) == (False, True)
    assert (first.at_ns, first.length) == (5, 20 + 8 + 61)


def test_captures_become_pcapng_that_our_reader_opens(tmp_path: Path) -> None:
    frames = [(10**18 + at * 20 * MS, _frame(b"\x8d" + bytes([at]) * 40)) for at in range(50)]
    pcapng.convert(_pcap(tmp_path / "tap.pcap", frames), tmp_path / "tap.pcapng")
    [capture] = analyze([str(tmp_path / "tap.pcapng")])["captures"]
    assert (capture["packets"], capture["error"]) == (50, None)
    [flow] = capture["flows"]
    assert {flow["client"], flow["server"]} == {"10.77.1.1:5000", "10.77.2.1:27960"}
