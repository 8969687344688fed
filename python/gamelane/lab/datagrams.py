"""Games, calls, traces and fixed rates: `gamelane-traffic` runs the generators of the simulator on real UDP sockets."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from gamelane import programs
from gamelane.lab import waiting
from gamelane.lab.plan import Flow
from gamelane.lab.topology import Household, server_address

PORT = 27960
SECRET = "between two namespaces of one machine"


@dataclass
class Datagrams:
    """Both ends of a flow. The client starts with the run and follows the schedule of the scenario itself."""

    home: Household
    flow: Flow
    seed: int
    begins_s: float = 0.0
    client: subprocess.Popen[str] | None = None

    def prepare(self) -> None:
        """Start the server."""
        log = self.home.folder / f"serve-{self.flow.name}.log"
        words = ["serve", *self._common("server"), "--listen", f"{server_address(self.flow)}:{PORT}"]
        server = self.home.lab.start(self.home.servers[self.flow.name], programs.TRAFFIC.find(), *words, log=log)
        waiting.for_word(server, log, "listening")

    def start(self) -> None:
        """Start the client."""
        flow = self.flow
        words = ["send", *self._common("client"), "--to", f"{server_address(flow)}:{PORT}", "--flow", flow.name]
        words += ["--seed", str(self.seed), "--from", self.home.home_address(flow)]
        log = self.home.folder / f"send-{flow.name}.log"
        self.client = self.home.lab.start(self.home.host_of(flow), programs.TRAFFIC.find(), *words, log=log)

    def stop(self) -> None:
        """End the client if it still runs; it then says goodbye to the server."""
        if self.client is not None and self.client.poll() is None:
            self.client.terminate()

    def records(self, end: str) -> Path:
        """Return the record file of an end."""
        return self.home.folder / f"{self.flow.name}-{end}.rec"

    def _common(self, end: str) -> list[str]:
        token = self.home.folder / "token"
        token.write_text(SECRET, encoding="utf-8")
        return [str(self.home.policy), "--token", str(token), "-o", str(self.records(end))]
