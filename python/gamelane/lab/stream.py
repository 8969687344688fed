"""One end of a bulk transfer, as a program of its own: so nothing but the kernel delays it. Reads one JSON argument.

It imports nothing of gamelane, because it has to start quickly. It sleeps whenever it waits, as virtual time needs it:
iperf3 polls the clock until its server is ready. Each connection has a thread.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator

PIECE = memoryview(bytes(128 << 10))
ROOM = bytearray(1 << 20)
"""Received data of all connections. Nobody reads it."""


def serve(given: dict) -> Iterator[socket.socket]:  # type: ignore[type-arg]  # a plain program
    """Wait for the connections of the one client."""
    with socket.create_server((given["address"], given["port"]), backlog=len(given["sizes"])) as listener:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        for _ in given["sizes"]:
            accepted, _ = listener.accept()
            mark(accepted, given)
            yield accepted


def connect(given: dict) -> socket.socket:  # type: ignore[type-arg]
    """Connect at a time of the monotonic clock."""
    time.sleep(max(0.0, given["at_s"] - time.monotonic()))
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    mark(opened, given)
    opened.connect((given["address"], given["port"]))
    return opened


def mark(own: socket.socket, given: dict) -> None:  # type: ignore[type-arg]
    """Set code point and Nagle's algorithm."""
    own.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, given["tos"])
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not given["nagle"])


def carry(own: socket.socket, size: int | None, *, sends: bool) -> None:
    """Send `size` bytes, or without end; or receive until the other end closes."""
    with own:
        if sends:
            left = size
            while left is None or left > 0:
                piece = PIECE if left is None else PIECE[:left]
                own.sendall(piece)
                left = None if left is None else left - len(piece)
            own.shutdown(socket.SHUT_WR)
        while own.recv_into(ROOM):
            pass


def main() -> None:
    """Carry the transfer over all its connections: `sizes` has the bytes of each."""
    given = json.loads(sys.argv[1])
    failed: list[OSError] = []

    def run(own: socket.socket | None, size: int | None) -> None:
        try:
            carry(own or connect(given), size, sends=given["sends"])
        except OSError as error:
            failed.append(error)

    ends = serve(given) if given["serves"] else [None] * len(given["sizes"])
    threads = []
    for own, size in zip(ends, given["sizes"], strict=False):
        threads.append(threading.Thread(target=run, args=(own, size)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
