"""Fixtures with real hosts. They need root and programs of `make test`; without them tests/needs.py skips tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gamelane import programs
from gamelane.errors import UsageError
from gamelane.lab.namespaces import Host, Lab, missing
from tests.needs import lacking


@dataclass(frozen=True)
class Triple:
    """A player and a server with a bridge between them."""

    lab: Lab
    player: Host
    bridge: Host
    server: Host


def program(wanted: programs.Program) -> Path:
    """Return the path of a program that cargo builds."""
    try:
        return wanted.find()
    except UsageError as error:
        lacking(str(error).splitlines()[0])


@pytest.fixture
def triple() -> Iterator[Triple]:
    """Set addresses 10.9.0.1 and 10.9.0.2. Nothing between the hosts forwards yet."""
    if why := missing():
        lacking(why)
    with Lab() as lab:
        player, bridge, server = lab.host("player"), lab.host("bridge", bridge=True), lab.host("server")
        lab.link(player, bridge, names=("eth0", "home"))
        lab.link(server, bridge, names=("eth0", "wan"))
        for host, last in ((player, 1), (server, 2)):
            host.run("ip", "addr", "add", f"10.9.0.{last}/24", "dev", "eth0")
        yield Triple(lab, player, bridge, server)
