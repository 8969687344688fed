"""One long TCP transfer, over one or several connections: `stream.py` at both ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from gamelane.lab import stream, waiting
from gamelane.lab.plan import Flow
from gamelane.lab.topology import Household, server_address

PORT = 5201
EARLY_S = 0.3
"""The client's program starts this much earlier. Then it waits for its time."""


@dataclass
class Bulk:
    """Both ends of a flow."""

    home: Household
    flow: Flow
    client: subprocess.Popen[str] | None = None

    def prepare(self) -> None:
        """Start the server."""
        log = self.home.folder / f"bulk-{self.flow.name}.log"
        server = self.home.lab.start(self.home.servers[self.flow.name], *self._words(serves=True), log=log)
        waiting.for_word(server, log, "listening")

    @property
    def begins_s(self) -> float:
        """Time to start the client, in seconds of the run."""
        return max(0.0, self.flow.start_s - EARLY_S)

    def start(self) -> None:
        """Start the client."""
        log = self.home.folder / f"bulk-client-{self.flow.name}.log"
        at_s = time.monotonic() + self.flow.start_s - self.begins_s
        self.client = self.home.lab.start(self.home.host_of(self.flow), *self._words(serves=False, at_s=at_s), log=log)

    def stop(self) -> None:
        """End the client if it still runs."""
        if self.client is not None and self.client.poll() is None:
            self.client.terminate()

    def _words(self, *, serves: bool, at_s: float = 0.0) -> list[str]:
        flow = self.flow
        given = {
            "serves": serves,
            "sends": flow.up != serves,
            "address": server_address(flow),
            "port": PORT,
            "sizes": shares(flow),
            "tos": flow.dscp << 2,
            "nagle": flow.tcp.nagle,
            "at_s": at_s,
        }
        return [sys.executable, "-I", "-S", str(Path(stream.__file__)), json.dumps(given)]


def shares(flow: Flow) -> list[int | None]:
    """Return the bytes of each connection, as in the simulator; None for one without end."""
    connections = flow.keys.get("connections", 1)
    if (size := flow.keys.get("size")) is None:
        return [None] * connections
    whole, more = divmod(waiting.size(size), connections)
    return [whole + (number < more) for number in range(connections)]
