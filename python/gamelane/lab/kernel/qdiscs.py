"""Reads the statistics of queue disciplines over netlink (rtnetlink(7), `struct tc_*_xstats` of pkt_sched.h)."""

from __future__ import annotations

import socket
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Qdisc:
    """One discipline of an interface: `waiting` and `backlog` are now; the rest counts since its start."""

    kind: str
    sent: int
    """Packets."""
    waiting: int
    """Packets."""
    backlog: int
    """Bytes."""
    dropped: int
    own: bytes
    """Statistics in the form of its kind."""

    def reasons(self) -> dict[str, int]:
        """Return its drops by reason (docs/records.md)."""
        match self.kind:
            case "pie" | "fq_pie":
                by_law, full = self._words()[1:3] if self.kind == "fq_pie" else self._words()[6:8]
                found = {"aqm-enqueue": by_law, "tail" if self.kind == "pie" else "overlimit": full}
            case "codel" | "fq_codel":
                full = self._words()[5 if self.kind == "codel" else 2]
                found = {"aqm-dequeue": self.dropped - full, "tail" if self.kind == "codel" else "overlimit": full}
            case "cake":
                filtered = self._tins(ACKS_DROPPED)
                found = {"ack-filter": filtered, "aqm-dequeue": self.dropped - filtered}
            case _:
                found = {"tail": self.dropped}
        return {reason: count for reason, count in found.items() if count > 0}

    def marked(self) -> int:
        """Return the packets that it marked instead of dropping them."""
        match self.kind:
            case "pie":
                return self._words()[9]
            case "fq_pie":
                return self._words()[4]
            case "codel":
                return self._words()[6]
            case "fq_codel":
                return self._words()[3]
            case "cake":
                return self._tins(ECN_MARKED)
            case _:
                return 0

    def _words(self) -> tuple[int, ...]:
        """Return its statistics as 32-bit words; zeros if there are none."""
        found = struct.unpack(f"={len(self.own) // 4}I", self.own[: len(self.own) // 4 * 4])
        return found + (0,) * (WORDS - len(found))

    def _tins(self, counter: int) -> int:
        """Return the sum of a counter over the tins of CAKE."""
        tins = dict(_attributes(self.own)).get(CAKE_TINS, b"")
        return sum(_first(dict(_attributes(tin)).get(counter, b"")) for _, tin in _attributes(tins))


class Qdiscs:
    """A netlink socket in the namespace of the thread that opens it. Any thread may use it."""

    def __init__(self, devices: tuple[str, ...]) -> None:
        """Open the socket."""
        self._names = {socket.if_nametoindex(device): device for device in devices}
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, ROUTE)
        self._socket.settimeout(PATIENCE_S)

    def read(self) -> dict[str, list[Qdisc]]:
        """Return the disciplines of each device."""
        message = struct.pack("=BxxxiIII", socket.AF_UNSPEC, 0, 0, 0, 0)
        self._socket.send(struct.pack("=IHHII", HEADER + len(message), GET, REQUEST | DUMP, 0, 0) + message)
        found: dict[str, list[Qdisc]] = defaultdict(list)
        while True:
            data = self._socket.recv(1 << 17)
            at = 0
            while at + HEADER <= len(data):
                length, kind = struct.unpack_from("=IH", data, at)
                if kind in (DONE, ERROR) or length < HEADER:
                    return found
                (index,) = struct.unpack_from("=i", data, at + HEADER + 4)
                if index in self._names:
                    found[self._names[index]].append(_qdisc(data[at + HEADER + MESSAGE : at + length]))
                at += (length + 3) & ~3


def _qdisc(data: bytes) -> Qdisc:
    every = dict(_attributes(data))
    stats = dict(_attributes(every.get(STATS2, b"")))
    sent = _first(stats.get(BASIC, b"")[8:])
    packets, waiting, dropped = struct.unpack_from("=3I", stats.get(QUEUE, bytes(12)))
    return Qdisc(every[KIND].rstrip(b"\0").decode(), sent, packets, waiting, dropped, stats.get(OWN, b""))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            return
        yield kind & NOT_FLAGS, data[at + 4 : at + length]
        at += (length + 3) & ~3


def _first(data: bytes) -> int:
    return int.from_bytes(data[:4], "little" if struct.pack("=H", 1) == b"\1\0" else "big")


PATIENCE_S = 2.0
HEADER, MESSAGE = 16, 20
ROUTE = 0
GET = 38
REQUEST, DUMP = 0x1, 0x300
ERROR, DONE = 2, 3
NOT_FLAGS = 0x3FFF
KIND, STATS2 = 1, 7
BASIC, QUEUE, OWN = 1, 3, 4
WORDS = 12
"""Statistics of a kind have at most this many words that are read here."""
CAKE_TINS = 10
ACKS_DROPPED, ECN_MARKED = 6, 8
