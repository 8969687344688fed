"""Video in chunks over one HTTP connection: the simulator's player (crates/traffic/src/dash.rs) on real sockets."""

from __future__ import annotations

import http.client
import math
import threading
import time

from gamelane import quantity
from gamelane.lab import httpd
from gamelane.lab.inside import inside
from gamelane.lab.plan import Flow, seconds
from gamelane.lab.reports import CHUNK, STALL, Report, Reports
from gamelane.lab.topology import Household

RATES = ["500kbit", "1mbit", "5mbit"]
NS = 1_000_000_000


class Dash(httpd.Application):
    """Server and player of a flow."""

    def __init__(self, home: Household, flow: Flow, reports: Reports) -> None:
        """Read the model."""
        super().__init__(home, flow, reports)
        keys = flow.keys
        self.chunk_s = seconds(keys.get("chunk", "5s"))
        self.rates = [quantity.parse(rate, "bit/s") or 0.0 for rate in keys.get("rates", RATES)]
        self.adaptive = keys.get("requests", "cycle") == "adaptive"
        self.gap_s, self.period_s = seconds(keys.get("gap", "2s")), seconds(keys.get("period", "10s"))
        self.buffer_s = seconds(keys.get("buffer", "30s"))
        # When all chunks so far will have been played; the start before the first chunk.
        self._dry_s = math.inf

    def prepare(self) -> None:
        """Start the server."""
        video = self

        class Chunks(httpd.Handler):
            def do_GET(self) -> None:  # noqa: N802 - the name is the library's
                self.send_bytes(video.size(int(self.path.removeprefix("/"))))

        self.serve(Chunks)

    def size(self, rate: int) -> int:
        """Return the bytes of a chunk."""
        return max(1, int(self.rates[rate] * self.chunk_s / 8))

    def start(self) -> None:
        """Begin to play."""
        self._dry_s = time.monotonic()
        threading.Thread(target=self._play, name=self.flow.name, daemon=True).start()

    def stop(self) -> None:
        """Stop requests, and report a stall in progress."""
        if self._stop.is_set():
            return
        # Chunks that arrive from now on are not reported.
        self._stop.set()
        self._stall(time.monotonic())
        super().stop()

    def _play(self) -> None:
        """Play until the end. If the connection breaks before, the lab run fails."""
        try:
            self._ask()
        except (OSError, http.client.HTTPException) as error:
            if not self._stop.is_set():
                self.reports.fail(f"{self.flow.name}: {error!r}")

    def _ask(self) -> None:
        began, rate, number = time.monotonic(), 0, 0
        with inside(self.home.host_of(self.flow)):
            own = self.connect()
            while not self._stop.wait(max(0.0, self._next_s(began, number) - time.monotonic())):
                if not self.adaptive:
                    rate = number % len(self.rates)
                asked = time.monotonic_ns()
                own.request("GET", f"/{rate}")
                answer = own.getresponse()
                while answer.read(1 << 16):
                    pass
                if self._stop.is_set():
                    return
                rate = self._arrived(number, rate, asked)
                number += 1

    def _arrived(self, number: int, rate: int, asked_ns: int) -> int:
        """Report an arrived chunk, update the buffer, and return the highest rate below the measured throughput."""
        now = time.monotonic_ns()
        took = now - asked_ns
        self.reports.add(Report(now, self.flow.number, CHUNK, number, self.size(rate), took))
        self._stall(now / NS)
        self._dry_s = max(self._dry_s, now / NS) + self.chunk_s
        throughput = self.size(rate) * 8 * NS / max(took, 1)
        return max((at for at, known in enumerate(self.rates) if known <= throughput), default=0)

    def _stall(self, now_s: float) -> None:
        if now_s > self._dry_s:
            lasted = round((now_s - self._dry_s) * NS)
            self.reports.add(Report(round(now_s * NS), self.flow.number, STALL, 0, 0, lasted))

    def _next_s(self, began: float, number: int) -> float:
        """Return the time of the next request, monotonic seconds."""
        if self.adaptive:
            return self._dry_s - self.buffer_s
        turn, place = divmod(number, len(self.rates))
        return began + turn * self.period_s + place * self.gap_s
