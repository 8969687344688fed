"""Samples every 100 ms: backlogs, drops with reasons and shaper rates of the gateway, and the state of all TCP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from gamelane.errors import LabError
from gamelane.lab.inside import inside
from gamelane.lab.namespaces import Host
from gamelane.lab.plan import DATAGRAMS, DIRECTIONS
from gamelane.lab.sockdiag import Diagnosis, TcpState
from gamelane.lab.topology import Household, server_address

EVERY_S = 0.1
STATUS = ("127.0.0.1", 9720)
PATIENCE_S = 5
ANY = -1
"""Instead of a flow, if the drops of a queue are not counted by flow."""
CONNECTIONS = 4
"""Connections of a flow whose state is kept. Hundreds of players would fill the memory of a guest."""
CLIENT, SERVER = 0, 1
SIDES = ("client", "server")


@dataclass
class Samples:
    """Samples of a run; times are nanoseconds of the monotonic clock."""

    queues: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Time, direction, packets, bytes."""
    rates: list[tuple[int, int, int]] = field(default_factory=list)
    """Time, direction, bit/s of a shaper that follows its link."""
    drops: list[tuple[int, int, int, str, int]] = field(default_factory=list)
    """Time, direction, flow or `ANY`, reason, packets since the previous sample."""
    tcp: list[tuple[int, int, int, TcpState]] = field(default_factory=list)
    """Time, flow, side, state: of the first `CONNECTIONS` of each flow."""
    retransmissions: list[tuple[int, int]] = field(default_factory=list)
    """Flow, segments that one end of a connection sent again."""
    last: dict[str, Any] = field(default_factory=dict)
    """The gateway's last status."""


class Sampler:
    """A thread that takes samples until it is stopped."""

    def __init__(self, home: Household) -> None:
        """Prepare; sampling begins with `start`."""
        self.home = home
        self.samples = Samples()
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._flows = {server_address(flow): flow.number for flow in home.plan.flows}
        self._counted: Counter[tuple[int, int, str, str]] = Counter()
        self._kept: dict[int, set[int]] = defaultdict(set)
        """Client ports of the connections whose state is kept, by flow."""
        self._again: dict[tuple[int, int, int], int] = {}
        """Segments sent again, by flow, side, and client port."""
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Start sampling."""
        self._thread.start()

    def stop(self) -> Samples:
        """Take a last sample and return all samples."""
        self._stop.set()
        self._thread.join(timeout=PATIENCE_S * 2)
        self.samples.retransmissions = [(flow, count) for (flow, *_), count in self._again.items()]
        if self._failure is not None:
            raise LabError(
                f"cannot read the status of the gateway or the TCP state of a host: {self._failure}"
            ) from self._failure
        return self.samples

    def _run(self) -> None:
        ends = []
        try:
            for flow in self.home.plan.flows:
                if flow.app in DATAGRAMS:
                    continue
                for side, host in ((CLIENT, self.home.host_of(flow)), (SERVER, self.home.servers[flow.name])):
                    with inside(host):
                        ends.append((flow, side, Diagnosis()))
            due = time.monotonic()
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                due = max(due + EVERY_S, time.monotonic())
                self._ask_boxes()
                for flow, side, diagnosis in ends:
                    self._ask_host(flow.number, server_address(flow), side, diagnosis)
            self._ask_boxes()
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            self._failure = error
        finally:
            for _, _, diagnosis in ends:
                diagnosis.close()

    def _ask_boxes(self) -> None:
        """Sample the gateway, and the modem if there is one."""
        for box in self.home.boxes:
            status = box.status()
            now = time.monotonic_ns()
            if box.host is self.home.gateway:
                self.samples.last = status
                for number, direction in enumerate(DIRECTIONS):
                    queue = status["queues"][direction]
                    self.samples.queues.append((now, number, queue["qlen"], queue["backlog"]))
                    if follows := status["autorate"].get(direction):
                        self.samples.rates.append((now, number, follows["rate_bps"]))
            self._take_drops(box.host.name, status, now)

    def _take_drops(self, box: str, status: dict[str, Any], now: int) -> None:
        if (status.get("watch") or {}).get("error"):  # Linux shows no single packets here, so no drops by flow.
            for number, direction in enumerate(DIRECTIONS):
                for reason, count in status["queues"][direction]["drop_reasons"].items():
                    self._count((ANY, number, reason), box, count, now)
            return
        for known in status["flows"]:
            flow = self._flows.get(known["server"].rpartition(":")[0])
            if flow is None:
                continue
            for number, direction in enumerate(DIRECTIONS):
                for reason, count in known[direction]["drops"].items():
                    self._count((flow, number, reason), f"{box} {known['home']}", count, now)

    def _count(self, what: tuple[int, int, str], where: str, count: int, now: int) -> None:
        """Note new drops. The gateway counts per conversation since its start, and a flow may have several."""
        key = (*what, where)
        more = count - self._counted[key]
        if more > 0:
            self._counted[key] = count
            flow, direction, reason = what
            self.samples.drops.append((now, direction, flow, reason, more))

    def _ask_host(self, flow: int, server: str, side: int, diagnosis: Diagnosis) -> None:
        now = time.monotonic_ns()
        for state in diagnosis.connections():
            if side == CLIENT and state.remote != server:
                continue
            port = state.local_port if side == CLIENT else state.remote_port
            self._again[flow, side, port] = state.retransmissions
            kept = self._kept[flow]
            if len(kept) < CONNECTIONS:
                kept.add(port)
            if port in kept:
                self.samples.tcp.append((now, flow, side, state))


def ask(box: Host) -> dict[str, Any]:
    """Return the status of the gateway in the network namespace of `box`."""
    with inside(box):
        link = http.client.HTTPConnection(*STATUS, timeout=PATIENCE_S)
        try:
            link.request("GET", "/status")
            status: dict[str, Any] = json.loads(link.getresponse().read())
        finally:
            link.close()
    return status
