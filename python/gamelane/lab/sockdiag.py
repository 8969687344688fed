"""Reads `tcp_info` of all TCP connections in a network namespace, over netlink (sock_diag(7))."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class TcpState:
    """State of one end of a TCP connection."""

    local_port: int
    remote: str
    remote_port: int
    cwnd_bytes: int
    ssthresh_bytes: int
    srtt_ns: int
    rto_ns: int
    in_flight_bytes: int
    retransmissions: int


class Diagnosis:
    """A netlink socket in the namespace of the thread that opens it. Any thread may use it."""

    def __init__(self) -> None:
        """Open the socket."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, SOCK_DIAG)
        self._socket.settimeout(PATIENCE_S)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def connections(self) -> Iterator[TcpState]:
        """Yield every established connection over IPv4."""
        request = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 1 << (INFO - 1), ESTABLISHED)
        header = struct.pack("=IHHII", HEADER + len(request), BY_FAMILY, REQUEST | DUMP, 0, 0)
        self._socket.send(header + request)
        while True:
            data = self._socket.recv(1 << 16)
            at = 0
            while at + HEADER <= len(data):
                length, kind = struct.unpack_from("=IH", data, at)
                if kind in (DONE, ERROR) or length < HEADER:
                    return
                state = _state(data[at + HEADER : at + length])
                if state is not None:
                    yield state
                at += (length + 3) & ~3


def _state(message: bytes) -> TcpState | None:
    if len(message) < MESSAGE:
        return None
    local_port, remote_port = struct.unpack_from("!HH", message, 4)
    remote = socket.inet_ntop(socket.AF_INET, message[24:28])
    at = MESSAGE
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if length < 4:
            return None
        if kind == INFO and length - 4 >= TCP_INFO:
            info = message[at + 4 : at + length]
            rto_us, _, segment, _, unacked, sacked, lost, again = struct.unpack_from("=8I", info, 8)
            srtt_us, _, ssthresh, cwnd = struct.unpack_from("=4I", info, 68)
            (total,) = struct.unpack_from("=I", info, 100)
            flight = max(unacked - sacked - lost + again, 0)
            return TcpState(
                local_port, remote, remote_port, cwnd * segment, ssthresh * segment, srtt_us * 1000, rto_us * 1000,
                flight * segment, total,
            )  # fmt: skip
        at += (length + 3) & ~3
    return None


PATIENCE_S = 2.0
HEADER = 16
MESSAGE = 72
TCP_INFO = 104
SOCK_DIAG = 4
BY_FAMILY = 20
REQUEST, DUMP = 0x1, 0x300
ERROR, DONE = 2, 3
INFO = 2
ESTABLISHED = 1 << 1
