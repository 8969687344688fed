"""Writes a capture with many flows, as at a busy access network: TCP with losses, games over TCP and UDP, DNS.

Every flow is made from its own seeded random numbers. TCP sends its data in rounds of one round trip, with slow start,
ACKs of every second segment, duplicate ACKs with SACK, fast retransmissions and timeouts. The capture point is beside
the clients.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from heapq import merge
from pathlib import Path

MSS = 1448
HEADER = struct.Struct("<IIII")
ETHERNET = bytes(range(12)) + b"\x08\x00"
IP = struct.Struct(">BBHHHBBHII")
TCP = struct.Struct(">HHIIBBHHHBBBBII")
UDP = struct.Struct(">HHHH")
SACK = struct.Struct(">BBBBII")
FIN, SYN, PUSH, ACK = 1, 2, 8, 16

Frame = tuple[float, bytes, int]
"""Time in seconds, headers, and the number of payload bytes behind them."""


class Ends:
    """The two ends of a flow."""

    def __init__(self, number: int, server_port: int) -> None:
        """Addresses and ports from the flow's number."""
        self.hosts = (0x0A000000 + number % 250 * 256 + number // 250 % 250 + 2, 0xCB007100 + number % 200 + 1)
        self.ports = (32768 + number % 28000, server_port)
        self.ids = [number & 0xFFFF, 1]

    def ip(self, way: int, protocol: int, length: int) -> bytes:
        """Return Ethernet and IP headers in front of `length` bytes."""
        self.ids[way] = self.ids[way] % 0xFFFF + 1
        return ETHERNET + IP.pack(
            0x45, 0, 20 + length, self.ids[way], 0x4000, 60, protocol, 0, self.hosts[way], self.hosts[1 - way]
        )

    def udp(self, at: float, way: int, payload: bytes, more: int) -> Frame:
        """Return a datagram: the first bytes of its payload, and how many zeros follow."""
        length = 8 + len(payload) + more
        header = UDP.pack(self.ports[way], self.ports[1 - way], length, 0)
        return at, self.ip(way, 17, length) + header + payload, more

    def tcp(  # noqa: PLR0913 - a segment has these fields
        self,
        at: float,
        way: int,
        seq: int,
        ack: int,
        length: int = 0,
        *,
        flags: int = ACK,
        sack: tuple[int, int] = (0, 0),
    ) -> Frame:
        """Return a segment with time stamps, and a SACK block if there is one."""
        options = 12 if sack == (0, 0) else 24
        stamp = int(at * 1000) + 1000
        header = TCP.pack(
            self.ports[way], self.ports[1 - way], seq, ack, (20 + options) * 4, flags, 500, 0, 0,
            1, 1, 8, 10, stamp, stamp - 20,
        )  # fmt: skip
        if options > 12:
            header += SACK.pack(1, 1, 5, 10, *sack)
        return at, self.ip(way, 6, 20 + options + length) + header, length


def download(ends: Ends, rng: random.Random, start: float, segments: int, loss: float) -> Iterator[Frame]:
    """Yield a request and its answer of so many segments."""
    rtt, seq, end = rng.uniform(0.01, 0.15), 1, 1 + segments * MSS
    at = start
    yield ends.tcp(at, 0, 0, 0, flags=SYN)
    yield ends.tcp(at + rtt, 1, 0, 1, flags=SYN | ACK)
    at += rtt + 0.0002
    yield ends.tcp(at, 0, 1, 1)
    request = rng.randrange(200, 900)
    yield ends.tcp(at + 0.0001, 0, 1, 1, request, flags=ACK | PUSH)
    up, at, window = 1 + request, at + rtt, 10
    missing: list[int] = []
    while seq < end or missing:
        again = missing
        sent = [*again, *range(seq, min(seq + window * MSS, end), MSS)]
        seq = min(seq + window * MSS, end) if len(sent) > len(again) else seq
        lost = [data for data in sent if rng.random() < loss]
        acknowledged = min([*lost, seq])
        for place, data in enumerate(sent):
            at += 0.0003
            # Half of the losses are behind the capture point: those segments are seen.
            if data not in lost or data & 1:
                yield ends.tcp(at, 1, data, up, MSS)
            if data in lost:
                continue
            if data > acknowledged:
                yield ends.tcp(at + 0.0001, 0, up, acknowledged, sack=(data, data + MSS))
            elif place % 2:
                yield ends.tcp(at + 0.0001, 0, up, min(data + MSS, acknowledged))
        yield ends.tcp(at + 0.0002, 0, up, acknowledged)
        missing, window = lost, window + 4 if not lost else max(4, window // 2)
        at += rtt if len(sent) - len(lost) > 3 or not lost else rtt + 0.2
    yield ends.tcp(at, 0, up, end, flags=ACK | FIN)
    yield ends.tcp(at + rtt, 1, end, up + 1, flags=ACK | FIN)
    yield ends.tcp(at + rtt + 0.0001, 0, up + 1, end + 1)


def thin(ends: Ends, rng: random.Random, start: float, messages: int, loss: float) -> Iterator[Frame]:
    """Yield a game over TCP: a small message every 200 ms each way; lost ones are repeated after 250 ms."""
    rtt, ups, downs = rng.uniform(0.02, 0.12), 1, 1
    for message in range(messages):
        at = start + message * 0.2
        size, answer = rng.randrange(20, 60), rng.randrange(60, 200)
        yield ends.tcp(at, 0, ups, downs, size, flags=ACK | PUSH)
        ups += size
        if rng.random() < loss:
            yield ends.tcp(at + rtt, 1, downs, ups, answer, flags=ACK | PUSH)
            at += 0.25
        yield ends.tcp(at + rtt, 1, downs, ups, answer, flags=ACK | PUSH)
        downs += answer
        yield ends.tcp(at + rtt + 0.0003, 0, ups, downs)


def game(ends: Ends, rng: random.Random, start: float, seconds: float) -> Iterator[Frame]:
    """Yield a game over UDP: 30 numbered commands and 20 snapshots a second, 1 % of them lost."""
    ways = [
        [(start + n * period, way, n) for n in range(int(seconds / period))] for way, period in ((0, 0.033), (1, 0.05))
    ]
    for at, way, number in merge(*ways):
        if rng.random() > 0.01:
            size = rng.randrange(40, 70) if way == 0 else rng.randrange(80, 400)
            yield ends.udp(at + rng.uniform(0, 0.002), way, struct.pack("<I", number), size)


def name(ends: Ends, rng: random.Random, start: float) -> Iterator[Frame]:
    """Yield a question to a name server and its answer."""
    question = rng.randbytes(12)
    yield ends.udp(start, 0, question, 20)
    yield ends.udp(start + rng.uniform(0.005, 0.05), 1, question, 100)


def flow(number: int, segments: int, seconds: float) -> Iterator[Frame]:
    """Return the packets of one flow. Of six flows, two are downloads, three are names, and one is a game."""
    rng = random.Random(number)
    start = rng.uniform(0, seconds)
    match number % 6:
        case 0 | 1:
            return download(Ends(number, 443), rng, start, 1 + int(rng.expovariate(1 / segments)), 0.02)
        case 2 | 3 | 4:
            return name(Ends(number, 53), rng, start)
        case _ if number % 4 == 1:
            return game(Ends(number, 27960), rng, start, rng.uniform(1, segments / 10))
        case _:
            return thin(Ends(number, 7000), rng, start, rng.randrange(10, segments * 3), 0.02)


def write(target: Path, flows: int, segments: int, seconds: float, snap_len: int = 65535) -> int:
    """Write a pcap file of so many flows, with so many segments a download. Return the number of packets."""
    frames = [frame for number in range(flows) for frame in flow(number, segments, seconds)]
    frames.sort(key=lambda frame: frame[0])
    with target.open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, snap_len, 1))
        zeros = bytes(2000)
        for at, headers, more in frames:
            whole = len(headers) + more
            kept = min(whole, snap_len)
            out.write(HEADER.pack(int(at), int(at % 1 * 1e6), kept, whole))
            out.write((headers + zeros[:more])[:kept])
    return len(frames)
