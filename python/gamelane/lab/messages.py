"""Games over TCP: a connection for each player. Sizes and times of all writes are those of the simulator.

One thread runs both ends of all connections. A socket stays in the network namespace in which it was opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from gamelane import _native
from gamelane.catalogue import APPS, MMO
from gamelane.lab import httpd
from gamelane.lab.inside import inside
from gamelane.lab.plan import MOST_PLAYERS, Flow
from gamelane.lab.reports import Reports
from gamelane.lab.topology import Household, server_address

PORT = APPS[MMO].server_port


@dataclass
class Written:
    """What the ends of a flow wrote."""

    players: dict[str, int] = field(default_factory=dict)
    """Number of each connection, by the client's port."""
    writes: list[tuple[int, int, bool, int]] = field(default_factory=list)
    """Monotonic nanoseconds, connection, whether from the client, bytes."""
    counters: dict[str, int] = field(default_factory=dict)
    """The counters `TcpExt` of the server's kernel, by its names. A server has one flow."""


class Messages:
    """Both ends of a flow."""

    def __init__(self, home: Household, flow: Flow, scenario: _native.Scenario, seed: int, reports: Reports) -> None:
        """Make the schedule of all writes."""
        self.home, self.flow, self.reports = home, flow, reports
        self.begins_s = 0.0
        self.written = Written()
        schedule = _native.message_schedule(scenario, flow.number, seed)
        self._opens: list[int] = schedule["opens_ns"].tolist()
        self._writes: dict[tuple[int, bool], list[tuple[int, int]]] = defaultdict(list)
        columns = (schedule[name].tolist() for name in ("at_ns", "connection", "up", "bytes"))
        for at_ns, number, up, size in zip(*columns, strict=True):
            self._writes[number, up].append((at_ns, size))
        self._thread = threading.Thread()
        self._began_ns = 0
        self._loop = asyncio.new_event_loop()

    def prepare(self) -> None:
        """Start the server. Each player has two sockets, so the limit of open files is raised."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        with inside(self.home.servers[self.flow.name]):
            listener = socket.create_server((server_address(self.flow), PORT), backlog=MOST_PLAYERS)
        listener.setblocking(False)
        self._thread = threading.Thread(target=self._run, args=(listener,), name=self.flow.name, daemon=True)

    def start(self) -> None:
        """Start the clients. Each follows the schedule of the scenario itself."""
        self._began_ns = time.monotonic_ns()
        self._thread.start()

    def stop(self) -> None:
        """Close all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._cancel)
            self._thread.join()

    def end(self) -> Written:
        """Return what was written, with the counters of the server."""
        lines = Path(f"/proc/{self.home.servers[self.flow.name].pid}/net/netstat").read_text(encoding="ascii")
        names, values = (line.split()[1:] for line in lines.splitlines() if line.startswith("TcpExt:"))
        self.written.counters = {name: int(value) for name, value in zip(names, values, strict=True)}
        return self.written

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def _run(self, listener: socket.socket) -> None:
        with (
            inside(self.home.host_of(self.flow)),
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
            contextlib.suppress(asyncio.CancelledError),
        ):
            try:
                runner.run(self._play(listener))
            except* OSError as errors:
                self.reports.fail(f"{self.flow.name}: {errors.exceptions[0]}")

    async def _play(self, listener: socket.socket) -> None:
        """Run clients and server until the task is cancelled."""
        with listener:
            async with asyncio.TaskGroup() as tasks:
                for number, at_ns in enumerate(self._opens):
                    if at_ns >= 0:
                        tasks.create_task(self._connect(number, at_ns))
                while True:
                    accepted, (_, port) = await self._loop.sock_accept(listener)
                    tasks.create_task(self._talk(accepted, self.written.players[str(port)], up=False))

    async def _connect(self, number: int, at_ns: int) -> None:
        await self._until(at_ns)
        own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        own.setblocking(False)
        own.bind((self.home.home_address(self.flow), 0))
        self.written.players[str(own.getsockname()[1])] = number
        await self._loop.sock_connect(own, (server_address(self.flow), PORT))
        await self._talk(own, number, up=True)

    async def _talk(self, own: socket.socket, number: int, *, up: bool) -> None:
        """Write on time, and read what comes."""
        with own:
            httpd.mark(own, self.flow.dscp)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not self.flow.tcp.nagle)
            reading = asyncio.ensure_future(self._read(own))
            for at_ns, size in self._writes[number, up]:
                await self._until(at_ns)
                self.written.writes.append((time.monotonic_ns(), number, up, size))
                await self._loop.sock_sendall(own, bytes(size))
            await reading

    async def _read(self, own: socket.socket) -> None:
        while await self._loop.sock_recv(own, 1 << 16):
            pass

    async def _until(self, at_ns: int) -> None:
        await asyncio.sleep((self._began_ns + at_ns - time.monotonic_ns()) / 1e9)
