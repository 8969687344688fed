"""One end of a bulk transfer, as a program of its own: so nothing but the kernel delays it. Reads one JSON argument.

It imports nothing of gamelane, because it has to start quickly. It sleeps whenever it waits, as virtual time needs it:
iperf3 polls the clock until its server is ready.
"""

import json
import socket
import sys
import time

PIECE = memoryview(bytes(128 << 10))


def serve(given: dict) -> socket.socket:  # type: ignore[type-arg]  # a plain program
    """Wait for the one client."""
    with socket.create_server((given["address"], given["port"])) as listener:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        accepted, _ = listener.accept()
    mark(accepted, given)
    return accepted


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


def main() -> None:
    """Send `size` bytes, or without end; or receive until the other end closes."""
    given = json.loads(sys.argv[1])
    with serve(given) if given["serves"] else connect(given) as own:
        if given["sends"]:
            left = given["size"]
            while left is None or left > 0:
                piece = PIECE if left is None else PIECE[:left]
                own.sendall(piece)
                left = None if left is None else left - len(piece)
            own.shutdown(socket.SHUT_WR)
        room = bytearray(1 << 20)
        while own.recv_into(room):
            pass


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
