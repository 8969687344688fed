"""Observed packets handed to the recorder: made by hand, without a lab."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gamelane import _native
from gamelane.analysis.capture import analyze
from gamelane.lab import pcapng, taps
from gamelane.lab.messages import Written
from gamelane.lab.observed import Observed
from gamelane.lab.plan import Plan, plan
from gamelane.lab.recording import Fate, Seen, fates, goodput, record
from gamelane.lab.sampler import Samples
from gamelane.lab.sockdiag import TcpState
from gamelane.lab.taps import NOWHERE, Passage
from gamelane.records.frames import frames

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
    """Make a passage; times in ms: sent, into the gateway, out of it, arrived."""
    ns = [NOWHERE if at is None else BEGAN + round(at * MS) for at in at_ms]
    values = {"length": 100, "marked": False, "tcp": None, **more}
    return Passage(up, ns[0], ns[1], ns[2], ns[3], **values)  # type: ignore[arg-type]


def of(planned: Plan, game: list[Passage], upload: list[Passage], samples: Samples | None = None) -> list[Fate]:
    return fates(planned, [game, upload], samples or Samples(), BEGAN)


QUIET = {
    "queues": {
        way: {"arrived": 0, "drop_reasons": {}, "ecn_mark": 0, "peak_qlen": 0, "qlen": 0, "backlog": 0}
        for way in ("up", "down")
    },
    "autorate": {},
}


def scenario() -> _native.Scenario:
    return _native.Scenario.parse(SCENARIO, "by-hand.toml", [])


def seen_by(planned: Plan, found: list[Fate], written: dict[int, Written]) -> Seen:
    return Seen(planned, found, Observed(0, 0, (), Samples(last=QUIET), (), {}, written, 0.0), Path())


def recorded(planned: Plan, found: list[Fate]) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Return tables and summary of these packets."""
    run = record(scenario(), seen_by(planned, found, {})).finish(1, 0.0)
    return frames(run, variant="run", variants=["run"]), json.loads(run.summary_json())


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
    reasons = [fate.reason for fate in found]
    # The fourth still waits, because no drop was counted. Packets on the way at the end are followed.
    assert reasons == [None, "tail", "aqm-dequeue", None, "link", "path", None, "link"]
    assert [fate.arrived_ns for fate in found] == [32 * MS, *[None] * 5, 2019 * MS, None]
    tables, summary = recorded(planned, found)
    up = tables["windows"].filter(pl.col("flow") == "game", pl.col("direction") == "up")
    assert up["sent"].to_list() == [5, 2]
    assert up["lost"].to_list() == [3, 1]
    assert up["received"].to_list() == [1, 0]
    assert tables["delay"]["queue_delay_ms"].to_list() == [10, 8]
    assert tables["drops"]["t_s"].to_list() == [0.011, 0.021, 0.042, 0.050, 2.004]
    assert tables["drops"]["reason"].to_list() == ["tail", "aqm-dequeue", "link", "path", "link"]
    assert [summary["flows"]["game"]["up"][key] for key in ("sent", "received", "lost")] == [7, 2, 4]


PLAYERS = """
name = "players"
duration = "2s"
[link]
down = "10mbit"
up = "10mbit"
rtt = "40ms"
[[flow]]
name = "players"
app = "mmo"
model = "anarchy-online"
connections = 2
"""
SYN, ACK = 0x02, 0x10


def test_a_message_of_a_game_counts_until_a_copy_of_it_arrives_at_its_player() -> None:
    scenario = _native.Scenario.parse(PLAYERS, "players.toml", [])
    planned = plan(scenario, "players.toml")
    first = {True: 1000, False: 2**32 - 50}  # The numbers of the server wrap.

    def segment(  # noqa: PLR0917 - columns of a table
        up: bool, sent: float, arrived: float | None, offset: int, payload: int, ack: int | None
    ) -> Passage:
        flags = (SYN if offset == 0 else 0) | (0 if ack is None else ACK)
        number = (first[up] + offset) % 2**32
        acknowledged = 0 if ack is None else (first[not up] + ack) % 2**32
        ports = (40_000, 7500) if up else (7500, 40_000)
        through = [sent, sent, arrived, arrived]
        return passage(up, *through, tcp=(*ports, flags, acknowledged, payload, number), length=40 + payload)

    own = [
        segment(True, 0, 20, 0, 0, None),
        segment(False, 20, 40, 0, 0, 1),
        segment(True, 40, 60, 1, 0, 1),
        segment(False, 100, None, 1, 100, 1),
        segment(False, 150, 170, 101, 50, 1),
        segment(True, 170, 190, 1, 0, 1),
        segment(False, 400, 420, 1, 100, 1),
        segment(True, 420, 440, 1, 0, 151),
    ]
    written = Written({"40000": 1}, [(100 * MS, 1, False, 100), (150 * MS, 1, False, 50)], {"TCPLossProbes": 1})
    found = fates(planned, [own], Samples(drops=[(0, 1, 0, "tail", 1)]), BEGAN)
    run = record(scenario, seen_by(planned, found, {0: written})).finish(1, 0.0)
    tables = frames(run, variant="run", variants=["run"])
    rows = tables["deliveries"].select("t_s", "player", "delay_ms", "held_ms").rows()
    assert rows == [(0.42, 1, 320, 0), (0.42, 1, 270, 250)]
    assert tables["retransmissions"]["connection"].to_list() == [1]
    thin = json.loads(run.summary_json())["flows"]["players"]["thin"]
    assert (thin["packets"], thin["retransmitted_segments"], thin["nth"]["1"]["delay_ms"]) == (2, 1, 300)
    assert (thin["tail_probes"], thin["fast_retransmissions"], thin["timeouts"]) == (1, 1, 0)


def test_the_connections_of_a_transfer_have_numbers_in_the_order_in_which_they_opened() -> None:
    scenario = _native.Scenario.parse(SCENARIO, "by-hand.toml", [("flow.upload.connections", "2")])
    planned = plan(scenario, "by-hand.toml")

    def packet(port: int, sent: float, *, up: bool = True) -> Passage:
        ports = (port, 5201) if up else (5201, port)
        return passage(up, sent, sent, sent, sent + 20, tcp=(*ports, ACK, 0, 0, 0))

    own = [packet(50_002, 10), packet(50_001, 20), packet(50_002, 60, up=False), packet(50_001, 90, up=False)]
    states = [TcpState(port, "", 5201, 1000 * port, 0, 0, 0, 0, 0) for port in (50_001, 50_002)]
    samples = Samples(last=QUIET, tcp=[(100 * MS, 1, 0, state) for state in states])
    seen = Seen(
        planned, fates(planned, [[], own], Samples(), BEGAN), Observed(0, 0, (), samples, (), {}, {}, 0), Path()
    )
    tables = frames(record(scenario, seen).finish(1, 0.0), variant="run", variants=["run"])
    assert tables["tcp"].select("connection", "cwnd_bytes").rows() == [(1, 50_001_000), (0, 50_002_000)]
    # Each packet down answers the packet up of its own connection.
    assert tables["rtt"]["rtt_ms"].to_list() == [20 + 20, 20 + 20]


def test_a_mark_counts_where_the_packet_was_sent(planned: Plan) -> None:
    game = [passage(True, 990, 991, 1100, 1120, marked=True), passage(True, 995, 996, None, None, marked=True)]
    tables, summary = recorded(planned, of(planned, game, []))
    up = tables["windows"].filter(pl.col("flow") == "game", pl.col("direction") == "up")
    assert up["marked"].to_list() == [1, 0]
    assert summary["flows"]["game"]["up"]["marked"] == 1


def test_a_reason_nobody_knows_is_refused(planned: Plan) -> None:
    samples = Samples(drops=[(0, 0, 0, "cosmic-ray", 1)])
    found = of(planned, [passage(True, 10, 11, None, None)], [], samples)
    with pytest.raises(ValueError, match='drop reason is "cosmic-ray"; give one of tail, '):
        recorded(planned, found)


def test_round_trips_are_of_packet_pairs(planned: Plan) -> None:
    game = [
        passage(True, 0, 0, 5, 25),
        passage(True, 10, 10, 10, 30),
        passage(False, 40, 60, 61, 62),
        passage(False, 45, 65, 66, 67),
        passage(True, 50, 50, 50, 70),
        passage(False, 90, 110, 111, 112),
    ]
    tables, summary = recorded(planned, of(planned, game, []))
    rtt = tables["rtt"]
    # The first answer that reaches home pairs with the latest packet before it. The second answers no new packet.
    assert rtt["rtt_ms"].to_list() == [20 + 22, 20 + 22]
    assert rtt["t_s"].to_list() == [0.062, 0.112]
    assert summary["flows"]["game"]["rtt_deviation_ms"] == 0
    assert summary["flows"]["upload"]["rtt_deviation_ms"] is None, "nothing has no deviation"


def test_goodput_is_what_was_acknowledged_across_the_turn_of_numbers(planned: Plan) -> None:
    def acknowledgement(at: float, number: int) -> Passage:
        return passage(False, at, at, at, at, tcp=(5201, PORT, 0x10, number, 0))

    upload = [
        acknowledgement(1, 2**32 - 500),
        acknowledgement(2, 1000),
        acknowledgement(3, 900),
        acknowledgement(4, 2000),
    ]
    found = of(planned, [passage(True, 1, 1, 1, 21)], upload)
    assert list(goodput(found)) == [(0, 21 * MS, 72), (1, 1 * MS, 0), (1, 2 * MS, 1500), (1, 4 * MS, 1000)]
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
