"""A web server in another host's network, and connections to it from a third: Python's own, on threads."""

from __future__ import annotations

import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from gamelane.lab.inside import inside
from gamelane.lab.namespaces import Host

PORT = 80
PIECE = bytes(16 << 10)


class Handler(BaseHTTPRequestHandler):
    """Answers; says nothing on the terminal. What is below it says what."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = False
    code_point: ClassVar[int] = 0

    def setup(self) -> None:
        """Mark what is sent."""
        super().setup()
        mark(self.connection, self.code_point)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Keep silent."""

    def send_bytes(self, count: int) -> None:
        """Answer with so many bytes."""
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        while count > 0:
            self.wfile.write(PIECE[:count])
            count -= len(PIECE)


class Server(ThreadingHTTPServer):
    """Ends with the connections it has: hosts that go away do not say goodbye."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that broke is part of the traffic."""


def serve(host: Host, address: str, handler: type[Handler]) -> Server:
    """Listen there from now on, until `shutdown`."""
    with inside(host):
        server = Server((address, PORT), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="httpd", daemon=True).start()
    return server


def connection(address: str, code_point: int, *, nagle: bool = True) -> http.client.HTTPConnection:
    """Connect, from the network of the calling thread."""
    opened = http.client.HTTPConnection(address, PORT, timeout=None)
    opened.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    mark(opened.sock, code_point)
    opened.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not nagle)
    opened.sock.connect((address, PORT))
    return opened


def mark(connection: socket.socket, code_point: int) -> None:
    """Set the differentiated services code point of what is sent."""
    connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code_point << 2)


def hang_up(connection: http.client.HTTPConnection | None) -> None:
    """End a connection that another thread may be reading from."""
    if connection is not None and connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
