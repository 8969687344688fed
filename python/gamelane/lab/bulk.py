"""One long TCP transfer by iperf3. The client port tells the data connection from iperf3's control connection."""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass

from gamelane.lab import waiting
from gamelane.lab.plan import Flow
from gamelane.lab.topology import Household, server_address

FIRST_PORT = 40_000
HANDSHAKES = 5
"""Round trips on the control connection before data starts. The client starts this much earlier."""


@dataclass
class Bulk:
    """Both ends of a flow."""

    home: Household
    flow: Flow
    client: subprocess.Popen[str] | None = None

    @property
    def port(self) -> int:
        """Client port of the data connection."""
        return port(self.flow)

    def prepare(self) -> None:
        """Start the server."""
        log = self.home.folder / f"iperf3-{self.flow.name}.log"
        words = ("iperf3", "--server", "--bind", server_address(self.flow), "--one-off", "--forceflush")
        server = self.home.lab.start(self.home.servers[self.flow.name], *words, log=log)
        waiting.for_word(server, log, "listening")

    @property
    def begins_s(self) -> float:
        """Time to start the client, in seconds of the run."""
        return max(0.0, self.flow.start_s - HANDSHAKES * self.flow.path.rtt_s)

    def start(self) -> None:
        """Start the client."""
        flow = self.flow
        size = flow.keys.get("size")
        lasts = ("--bytes", str(waiting.size(size))) if size else ("--time", str(math.ceil(flow.stop_s) + 60))
        words = [
            *("iperf3", "--client", server_address(flow), "--cport", str(self.port), "--json", *lasts),
            *(["--reverse"] if not flow.up else []),
            *(["--no-delay"] if not flow.tcp.nagle else []),
            *(["--tos", str(flow.dscp << 2)] if flow.dscp else []),
        ]
        log = self.home.folder / f"iperf3-client-{flow.name}.json"
        self.client = self.home.lab.start(self.home.host_of(flow), *words, log=log)

    def stop(self) -> None:
        """End the client if it still runs."""
        if self.client is not None and self.client.poll() is None:
            self.client.terminate()


def port(flow: Flow) -> int:
    """Return the client port of a flow's data connection."""
    return FIRST_PORT + flow.number
