"""Captures packets at both ends and on both sides of the gateway, and matches them: where each was lost or delayed.

`tcpdump` captures headers. Packets are matched by their bytes, except for fields that a gateway may change: ECN bits,
TCP window and checksums. All capture points share one clock.
"""

from __future__ import annotations

import struct
import subprocess
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gamelane import _native
from gamelane.errors import LabError
from gamelane.lab import waiting
from gamelane.lab.namespaces import Lab
from gamelane.lab.topology import Household, Point

SNAPLEN = 128
BUFFER_KIB = 8192
SETTLE_S = 2.2
"""Time before tcpdump is stopped: packets are still in flight, and the kernel hands over the last block after 1 s."""
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet at one capture point."""

    at_ns: int
    key: bytes
    source: int
    destination: int
    length: int
    marked: bool
    tcp: tuple[int, int, int, int, int, int] | None
    """Source port, destination port, flags, acknowledgement, payload, sequence number."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A packet of a flow from end to end. Times are Unix nanoseconds; `NOWHERE` if it did not reach a point."""

    up: bool
    sent_ns: int
    into_ns: int
    out_ns: int
    arrived_ns: int
    length: int
    marked: bool
    tcp: tuple[int, int, int, int, int, int] | None


class Taps:
    """Runs tcpdump at every point until `stop`."""

    def __init__(self, lab: Lab, home: Household) -> None:
        """Start tcpdump at every point and wait until all capture."""
        points = {"home": home.home, "lan": home.lan, "wan": home.wan}
        points |= {f"site{number}": point for number, point in enumerate(home.sites)}
        self.folder = home.folder
        self.names = list(points)
        self.programs = [self._start(lab, name, point) for name, point in points.items()]
        deadline = time.monotonic() + 20
        for name, program in zip(self.names, self.programs, strict=True):
            while "listening on" not in (said := self._said(name)):
                if program.poll() is not None or time.monotonic() > deadline:
                    raise LabError(f"tcpdump at {name}: {said.strip() or 'did not start and printed nothing'}")
                time.sleep(0.01)

    def _start(self, lab: Lab, name: str, point: Point) -> subprocess.Popen[str]:
        words = (
            f"tcpdump -n -i {point.interface} -s {SNAPLEN} -B {BUFFER_KIB} -Z root --time-stamp-precision=nano".split()
        )
        log = self.folder / f"tcpdump-{name}.log"
        return lab.start(point.host, *words, "-w", str(file(self.folder, name)), "ip", log=log)

    def stop(self, stopped: waiting.Stopped) -> bool:
        """Stop after the last packets are written. Return False if `stopped` returned true before.

        Raise if the kernel dropped packets.
        """
        if not waiting.until(time.monotonic() + SETTLE_S, stopped):
            return False
        for program in self.programs:
            program.terminate()
        for name, program in zip(self.names, self.programs, strict=True):
            program.wait(timeout=20)
            if "\n0 packets dropped by kernel" not in (said := self._said(name)):
                raise LabError(f"tcpdump at {name} missed packets: {said.strip().splitlines()[-1]}")
        return True

    def _said(self, name: str) -> str:
        return (self.folder / f"tcpdump-{name}.log").read_text(encoding="utf-8")


def file(folder: Path, name: str) -> Path:
    """Return the capture file of a point."""
    return folder / f"{name}.pcap"


def passages(captures: Mapping[str, Path], servers: dict[int, int]) -> list[list[Passage]]:
    """Return the matched packets of each flow in order of sending.

    `captures` are the files by point, and `servers` maps server addresses to flows.
    """
    sites = [name for name in captures if name.startswith("site")]
    seen = {name: list(_packets(path)) for name, path in captures.items()}
    ends = sorted((packet for name in sites for packet in seen[name]), key=lambda packet: packet.at_ns)
    found: list[list[Passage]] = [[] for _ in servers]
    for up in (True, False):
        way = [seen["home"], seen["lan"], seen["wan"], ends]
        sent, *later = way if up else way[::-1]
        places = [_by_key(packets, up, servers) for packets in later]
        for packet in sent:
            flow = servers.get(packet.destination if up else packet.source)
            if flow is None:
                continue
            then = [place[packet.key].popleft() if place.get(packet.key) else None for place in places]
            into, out, arrived = then
            found[flow].append(
                Passage(
                    up=up,
                    sent_ns=packet.at_ns,
                    into_ns=into.at_ns if into else NOWHERE,
                    out_ns=out.at_ns if out else NOWHERE,
                    arrived_ns=arrived.at_ns if arrived else NOWHERE,
                    length=packet.length,
                    marked=arrived is not None and arrived.marked,
                    tcp=packet.tcp,
                )
            )
    for of_flow in found:
        of_flow.sort(key=lambda passage: passage.sent_ns)
    return found


def _by_key(packets: list[Packet], up: bool, servers: dict[int, int]) -> dict[bytes, deque[Packet]]:
    found: dict[bytes, deque[Packet]] = defaultdict(deque)
    for packet in packets:
        if (packet.destination if up else packet.source) in servers:
            found[packet.key].append(packet)
    return found


def _packets(path: Path) -> Iterator[Packet]:
    """Yield TCP and UDP packets over IPv4 and Ethernet. Control messages of `gamelane-traffic` are left out."""
    data = path.read_bytes()
    if data[:4] != NANOSECONDS:
        raise LabError(f"{path.name}: tcpdump did not write nanosecond times")
    at = 24
    while at + 16 <= len(data):
        seconds, nanos, kept, _ = RECORD.unpack_from(data, at)
        frame = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        packet = _packet(seconds * 1_000_000_000 + nanos, frame)
        if packet is not None:
            yield packet


def _packet(at_ns: int, frame: bytes) -> Packet | None:
    if len(frame) < SHORTEST or frame[12:15] != b"\x08\x00\x45":
        return None
    ip = frame[_native.ETHERNET_HEADER :]
    _, tos, length, _, source, destination = IP.unpack_from(ip)
    above = ip[_native.IPV4_HEADER :]
    endpoints = ip[4:6] + ip[12:20] + above[:4]
    tcp = None
    if ip[9] == TCP and len(above) >= _native.TCP_HEADER:
        ports = PORTS.unpack_from(above)
        header = (above[12] >> 4) * 4
        sequence, acknowledgement = NUMBERS.unpack_from(above, 4)
        tcp = (*ports, above[13], acknowledgement, length - _native.IPV4_HEADER - header, sequence)
        key = endpoints + above[4:14] + above[_native.TCP_HEADER : header] + ip[2:4]
    elif ip[9] == UDP:
        payload = above[_native.UDP_HEADER :]
        if not payload or not payload[0] & DATA:
            return None
        key = endpoints + above[4:6] + payload[:32]
    else:
        return None
    return Packet(at_ns, key, source, destination, length, tos & 3 == CONGESTION, tcp)


NANOSECONDS = b"\x4d\x3c\xb2\xa1"
RECORD = struct.Struct("<IIII")
IP = struct.Struct("!BBH8sII")
PORTS = struct.Struct("!HH")
NUMBERS = struct.Struct("!II")
SHORTEST = _native.ETHERNET_HEADER + _native.IPV4_HEADER + _native.UDP_HEADER
TCP, UDP = 6, 17
CONGESTION = 3
DATA = 0x80
"""First payload bit of a data packet of `gamelane-traffic` (crates/generator/src/wire.rs)."""
