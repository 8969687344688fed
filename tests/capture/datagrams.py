"""Small captures of UDP conversations, written packet by packet."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SERVER = (10, 0, 0, 2)
UDP = 17
RAW_IP = 101


@dataclass(frozen=True)
class Datagram:
    """A message at a time in milliseconds. `flow` makes conversations different."""

    at_ms: float
    payload: bytes
    flow: int = 0
    up: bool = False


def numbered(number: int, size: int = 60) -> bytes:
    """Return a message with its number in front, as the Quake family and Source write it."""
    return struct.pack("<I", number) + bytes(size - 4)


def write(path: Path, datagrams: Iterable[Datagram]) -> Path:
    """Write a capture with the datagrams in order of time."""
    records = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW_IP)]
    for one in sorted(datagrams, key=lambda datagram: datagram.at_ms):
        client = (10, 1, *divmod(one.flow, 256))
        ends = [(bytes(client), 40_000), (bytes(SERVER), 27_960)]
        (source, source_port), (target, target_port) = ends if one.up else ends[::-1]
        length = 28 + len(one.payload)
        # The identification is the same at every capture point.
        packet = (
            struct.pack(">BBHHHBBH", 0x45, 0, length, zlib.crc32(one.payload) & 0xFFFF, 0, 64, UDP, 0) + source + target
        )
        packet += struct.pack(">HHHH", source_port, target_port, length - 20, 0) + one.payload
        seconds, rest = divmod(round(one.at_ms * 1000), 1_000_000)
        records.append(struct.pack("<IIII", seconds, rest, length, length) + packet)
    path.write_bytes(b"".join(records))
    return path


def steady(
    count: int, every_ms: float, *, size: int = 60, flow: int = 0, up: bool = False, start_ms: float = 1000
) -> list[Datagram]:
    """Return messages without numbers at a steady pace. Each has other bytes, and the same at every capture point."""
    return [
        Datagram(
            start_ms + n * every_ms,
            struct.pack(">IHH", n * 2_654_435_761 % 2**32, flow, up) + bytes(size - 8),
            flow,
            up,
        )
        for n in range(count)
    ]
