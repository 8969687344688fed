"""Converts pcap files of tcpdump to pcapng with nanosecond times, the capture format that gamelane writes."""

from __future__ import annotations

import struct
from pathlib import Path

from gamelane import whole

ETHERNET = 1
NANOSECONDS = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
"""The option `if_tsresol`, and the end of options."""


def convert(pcap: Path, target: Path) -> None:
    """Convert a little-endian pcap file with nanosecond times to pcapng."""
    data, at = pcap.read_bytes(), 24
    parts = [
        _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        _block(1, struct.pack("<HHI", ETHERNET, 0, 0) + NANOSECONDS),
    ]
    while at + 16 <= len(data):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", data, at)
        stamp = seconds * 1_000_000_000 + nanos
        body = data[at + 16 : at + 16 + kept]
        head = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFF_FFFF, len(body), length)
        parts.append(_block(6, head + body + bytes(-len(body) % 4)))
        at += 16 + kept
    with whole.file(target) as partial:
        partial.write_bytes(b"".join(parts))


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length
