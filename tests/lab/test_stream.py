"""The program at both ends of a transfer, on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import Any

import pytest

from gamelane.lab import stream


def _end(port: int, sizes: list[int], *, serves: bool, sends: bool) -> subprocess.Popen[str]:
    given: dict[str, Any] = {
        "serves": serves, "sends": sends, "address": "127.0.0.1", "port": port, "sizes": sizes, "tos": 0,
        "nagle": True, "at_s": 0.0,
    }  # fmt: skip
    command = [sys.executable, "-I", "-S", stream.__file__, json.dumps(given)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("up", [True, False])
def test_every_connection_opens_at_once_and_carries_its_share(up: bool) -> None:
    port, sizes = _free_port(), [300_001, 300_000, 300_000]
    with _end(port, sizes, serves=True, sends=not up) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "listening\n"
        with _end(port, sizes, serves=False, sends=up) as client:
            assert client.wait(timeout=60) == 0
        assert server.wait(timeout=60) == 0


def test_who_sends_without_end_is_stopped_by_the_other_end() -> None:
    port = _free_port()
    with _end(port, [None, None], serves=True, sends=True) as server:  # type: ignore[list-item]
        assert server.stdout is not None
        server.stdout.readline()
        ends = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        for own in ends:
            assert len(own.recv(1 << 16)) > 0
        assert server.poll() is None
        for own in ends:
            own.close()
        assert server.wait(timeout=60) == 1
        assert server.stderr is not None
        assert "[Errno " in server.stderr.read()


def test_nobody_who_serves_is_an_error() -> None:
    with _end(_free_port(), [1], serves=False, sends=True) as client:
        assert client.wait(timeout=60) == 1
        assert client.stderr is not None
        assert "Connection refused" in client.stderr.read()
