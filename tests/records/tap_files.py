"""Recordings of a gateway, written packet by packet (crates/gateway/src/tap)."""

from __future__ import annotations

import ipaddress
import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MAGIC = b"gamelane-gateway decisions 1\n"
NOW, ARRIVED, LEFT, DROPPED, END = 0, 2, 3, 5, 10
IN, OUT, LOST = 0, 2, 4
TAIL = 0
SNAP = 160
HOME, SERVER = "192.168.1.2", "203.0.113.9"
ETHERNET = bytes.fromhex("020000000001 020000000002 0800")


class Packet(NamedTuple):
    """A packet that came to the gateway; `tcp` is SYN and acknowledgement. `left_ns` is None if it was dropped."""

    direction: int
    port: int
    length: int
    came_ns: int
    left_ns: int | None
    tcp: tuple[bool, int] | None = None


def name(port: int) -> str:
    """Return the name of a conversation in the records."""
    return f"udp {HOME}:{port} {SERVER}:{port}"


def write(
    folder: Path,
    policy: str,
    overrides: list[tuple[str, str]],
    packets: Iterable[Packet],
    end_ns: int,
    *,
    engine: str = "user",
) -> None:
    """Write a recording of these packets, which ends with the gateway. `engine` is `user` or `kernel`."""
    folder.mkdir()
    about = {
        "schema": 1,
        "version": "test",
        "policy": "",
        "policy_hash": "",
        "overrides": overrides,
        "seed": 3,
        "epoch_ns": 0,
        "snap": SNAP,
        "interfaces": ["lan", "wan"],
        "engine": engine,
        "pool": [1000, 1600],
    }
    (folder / "tap.json").write_text(json.dumps(about), encoding="utf-8")
    (folder / "policy-0000.toml").write_text(policy, encoding="utf-8")
    log, frames = bytearray(MAGIC), bytearray(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
    for _ in range(6):
        frames += _block(1, struct.pack("<HHI", 1, 0, SNAP))
    before = -1
    for at_ns, kind, number, packet in _events(packets):
        if at_ns != before:
            log += now(at_ns)
            before = at_ns
        log.append(kind << 1 | packet.direction)
        if kind != ARRIVED:
            log += _number(number)
        if kind == DROPPED:
            log.append(TAIL)
        point = {ARRIVED: IN, LEFT: OUT, DROPPED: LOST}[kind]
        frame = _frame(packet)
        kept = frame[:SNAP]
        head = struct.pack("<IIIII", point + packet.direction, 0, 0, len(kept), len(frame))
        frames += _block(6, head + kept)
    log += now(end_ns) + bytes([END << 1])
    (folder / "decisions-0000.log").write_bytes(log)
    (folder / "frames-0000.pcapng").write_bytes(frames)


def now(at_ns: int) -> bytes:
    """Encode a moment."""
    return bytes([NOW << 1]) + _number(at_ns)


def _events(packets: Iterable[Packet]) -> list[tuple[int, int, int, Packet]]:
    """Return time, kind, number and packet. At one moment a packet that waited leaves before another comes."""
    found = []
    for number, packet in enumerate(sorted(packets, key=lambda packet: packet.came_ns)):
        found.append(((packet.came_ns, 1), ARRIVED, number, packet))
        if packet.left_ns is None:
            found.append(((packet.came_ns, 1), DROPPED, number, packet))
        else:
            found.append(((packet.left_ns, 0 if packet.left_ns > packet.came_ns else 1), LEFT, number, packet))
    found.sort(key=lambda event: event[0])
    return [(at[0], kind, number, packet) for at, kind, number, packet in found]


def _frame(packet: Packet) -> bytes:
    home, server = (ipaddress.IPv4Address(address).packed for address in (HOME, SERVER))
    ends = home + server if packet.direction == 0 else server + home
    protocol = 17 if packet.tcp is None else 6
    ip = struct.pack(">BBHHHBBH", 0x45, 0, packet.length, 0, 0x4000, 64, protocol, 0) + ends
    if packet.tcp is not None:
        syn, ack = packet.tcp
        flags = 0x02 if syn else 0x10
        tcp = struct.pack(">HHIIBBHHH", packet.port, packet.port, 0, ack, 0x50, flags, 1000, 0, 0)
        return ETHERNET + ip + tcp + bytes(packet.length - 40)
    udp = struct.pack(">HHHH", packet.port, packet.port, packet.length - 20, 0)
    return ETHERNET + ip + udp + bytes(packet.length - 28)


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _number(value: int) -> bytes:
    """Encode in LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
