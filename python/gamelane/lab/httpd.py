"""A web server in the network namespace of a host, and client connections to it: Python's `http`, on threads."""

from __future__ import annotations

import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from gamelane.lab.inside import inside
from gamelane.lab.namespaces import Host
from gamelane.lab.plan import Flow
from gamelane.lab.reports import Reports
from gamelane.lab.topology import Household, server_address

PORT = 80
PIECE = bytes(16 << 10)


class Handler(BaseHTTPRequestHandler):
    """Base of the request handlers: marks packets, and prints no log."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = False
    code_point: ClassVar[int] = 0

    def setup(self) -> None:
        """Set the DSCP of the connection."""
        super().setup()
        mark(self.connection, self.code_point)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Print nothing."""

    def send_bytes(self, count: int) -> None:
        """Answer with `count` bytes. `TCP_CORK` keeps the headers for the first segment of the data."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, True)
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        while count > 0:
            self.wfile.write(PIECE[:count])
            count -= len(PIECE)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, False)


class Server(ThreadingHTTPServer):
    """A server that does not wait for open connections when it ends."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore broken connections: clients close them in the middle of a transfer."""


class Application:
    """Base of a flow over HTTP: a server behind the link, and a client at home."""

    def __init__(self, home: Household, flow: Flow, reports: Reports) -> None:
        """Keep where it runs and reports."""
        self.home, self.flow, self.reports = home, flow, reports
        self.begins_s = flow.start_s
        self._server: Server | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._stop = threading.Event()

    def serve(self, handler: type[Handler]) -> None:
        """Start the server."""
        handler.code_point = self.flow.dscp
        self._server = serve(self.home.servers[self.flow.name], server_address(self.flow), handler)

    def connect(self) -> http.client.HTTPConnection:
        """Connect to the server from the network namespace of the calling thread."""
        self._connection = connection(server_address(self.flow), self.flow.dscp, nagle=self.flow.tcp.nagle)
        return self._connection

    def stop(self) -> None:
        """Stop the client and the server."""
        self._stop.set()
        hang_up(self._connection)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def serve(host: Host, address: str, handler: type[Handler]) -> Server:
    """Start a server on `host`; it listens until `shutdown`."""
    with inside(host):
        server = Server((address, PORT), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="httpd", daemon=True).start()
    return server


def connection(address: str, code_point: int, *, nagle: bool = True) -> http.client.HTTPConnection:
    """Connect from the network namespace of the calling thread."""
    opened = http.client.HTTPConnection(address, PORT, timeout=None)
    opened.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    mark(opened.sock, code_point)
    opened.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not nagle)
    opened.sock.connect((address, PORT))
    return opened


def mark(connection: socket.socket, code_point: int) -> None:
    """Set the differentiated services code point (DSCP) of sent packets."""
    connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code_point << 2)


def hang_up(connection: http.client.HTTPConnection | None) -> None:
    """Shut a connection down, even if another thread is reading from it."""
    if connection is not None and connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
