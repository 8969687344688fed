"""Web pages over HTTP, as in the simulator: each period opens a connection for a random time or a random size.

Times and sizes have the distributions of the simulator, but other random values.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gamelane.lab import httpd, waiting
from gamelane.lab.inside import inside
from gamelane.lab.plan import Flow, seconds
from gamelane.lab.reports import TRANSFER, Report, Reports
from gamelane.lab.topology import Household

if TYPE_CHECKING:
    import numpy as np


class Web(httpd.Application):
    """Server and browser of a flow."""

    def __init__(self, home: Household, flow: Flow, seed: int, reports: Reports) -> None:
        """Draw the times or sizes of all pages."""
        import numpy as np  # noqa: PLC0415 - it loads slowly in a guest, and only pages need it

        super().__init__(home, flow, reports)
        self.every_s = seconds(flow.keys.get("every", "10s"))
        rng = np.random.default_rng([seed, zlib.crc32(flow.name.encode())])
        count = int((flow.stop_s - flow.start_s) / self.every_s) + 2
        self.sized = "size" in flow.keys
        given = flow.keys.get("size") if self.sized else flow.keys.get("lasting")
        self.bursts = _draw(rng, given, count, sized=self.sized)

    def prepare(self) -> None:
        """Start the server."""
        web = self

        class Page(httpd.Handler):
            def do_GET(self) -> None:  # noqa: N802 - the name is the library's
                burst = web.bursts[int(self.path.removeprefix("/"))]
                if web.sized:
                    self.send_bytes(round(burst))
                else:
                    self.send_for(burst)

            def do_PUT(self) -> None:  # noqa: N802 - the name is the library's
                while self.connection.recv(1 << 16):
                    pass

            def send_for(self, lasting_s: float) -> None:
                self.close_connection = True
                self.send_response(200)
                self.end_headers()
                end = time.monotonic() + lasting_s
                while time.monotonic() < end and not web._stop.is_set():
                    self.wfile.write(httpd.PIECE)

        self.serve(Page)

    def start(self) -> None:
        """Begin to load pages."""
        threading.Thread(target=self._browse, name=self.flow.name, daemon=True).start()

    def _browse(self) -> None:
        began = time.monotonic()
        with inside(self.home.host_of(self.flow)):
            for number in range(len(self.bursts)):
                if self._stop.wait(max(0.0, began + number * self.every_s - time.monotonic())):
                    return
                httpd.hang_up(self._connection)
                threading.Thread(target=self._load, args=(number,), daemon=True).start()

    def _load(self, number: int) -> None:
        """Load one page. A new thread stays in the network namespace of the thread that started it."""
        opened = time.monotonic_ns()
        with contextlib.suppress(OSError, http.client.HTTPException):
            own = self.connect()
            got = self._send(own, number) if self.flow.up else self._receive(own, number)
            if self.sized and got == round(self.bursts[number]):
                now = time.monotonic_ns()
                self.reports.add(Report(now, self.flow.number, TRANSFER, 0, got, now - opened))
            own.close()

    def _receive(self, own: http.client.HTTPConnection, number: int) -> int:
        own.request("GET", f"/{number}")
        answer, got = own.getresponse(), 0
        while piece := answer.read(PIECE):
            got += len(piece)
        return got

    def _send(self, own: http.client.HTTPConnection, number: int) -> int:
        own.putrequest("PUT", f"/{number}")
        own.endheaders()
        burst, sent, end = self.bursts[number], 0, time.monotonic() + self.bursts[number]
        while sent < round(burst) if self.sized else time.monotonic() < end:
            piece = httpd.PIECE[: round(burst) - sent] if self.sized else httpd.PIECE
            own.send(piece)
            sent += len(piece)
        own.sock.shutdown(socket.SHUT_WR)
        while own.sock.recv(1 << 16):
            pass
        return sent


PIECE = 1 << 12


def _draw(rng: np.random.Generator, given: str | Mapping[str, Any] | None, count: int, *, sized: bool) -> list[float]:
    """Draw sizes (constant or uniform) in bytes, or times (exponential or uniform) in seconds."""
    number = waiting.size if sized else seconds
    if isinstance(given, Mapping):
        return [float(value) for value in rng.uniform(number(given["min"]), number(given["max"]), count)]
    mean = float(number(given or "1s"))
    return [mean] * count if sized else [float(value) for value in rng.exponential(mean, count)]
