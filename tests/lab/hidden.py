"""A home whose modem nobody can look into: rate, buffer and delay are the test's secret."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from gamelane import programs
from gamelane.lab.namespaces import Host, Lab
from tests.lab.conftest import program

PATIENCE_S = 60
ETHERNET = 14
"""Bytes that `tbf` counts in addition to an IP packet."""


@dataclass(frozen=True)
class Modem:
    """The secret. Rates in kbit/s, the FIFOs' bytes, and the path's delay in each direction."""

    up_kbit: int
    down_kbit: int
    up_bytes: int
    down_bytes: int
    delay_ms: int
    header_bytes: int = ETHERNET
    """What the modem counts in addition to an IP packet."""
    packets: bool = False
    """Whether the FIFOs count packets: as many of 1514 B as fit into the bytes."""


@dataclass(frozen=True)
class Hidden:
    """Home 10.9.0.1, a gateway, the modem, and a server 10.9.0.2 beyond it. The gateway bridges `lan` and `wan`."""

    lab: Lab
    home: Host
    gateway: Host
    modem: Host
    server: Host
    folder: Path

    def serve(self, key: Path) -> None:
        """Start the server of measurements."""
        words = (program(programs.TRAFFIC), "listen", "--listen", "10.9.0.2:27970", "--key", key)
        log = self.folder / "serve.log"
        self.lab.start(self.server, *words, log=log)
        wait_for("listening", log)

    def shape(self, modem: Modem, verb: str = "add") -> None:
        """Set the modem's rates and buffers."""
        size = f"stab overhead {modem.header_bytes - ETHERNET} linklayer ethernet"
        for device, kbit, limit in (("out", modem.up_kbit, modem.up_bytes), ("in", modem.down_kbit, modem.down_bytes)):
            tbf = f"tc qdisc {verb} dev {device} root handle 1: {size} tbf rate {kbit}kbit burst 3000 limit {limit}"
            self.modem.run(*tbf.split())
            if modem.packets:
                fifo = f"tc qdisc {verb} dev {device} parent 1:1 pfifo limit {limit // 1514}"
                self.modem.run(*fifo.split())

    def run_gateway(self, policy: Path) -> subprocess.Popen[str]:
        """Replace the kernel's bridge by gamelane's gateway."""
        self.gateway.run("ip", "link", "del", "br0")
        log = self.folder / "gateway.log"
        words = (program(programs.GATEWAY), "run", "--lan", "lan", "--wan", "wan", policy)
        running = self.lab.start(self.gateway, *words, log=log)
        wait_for("forwarding", log)
        return running


def hidden(lab: Lab, folder: Path, modem: Modem) -> Hidden:
    """Make the hosts and their links."""
    names = ("home", "gateway", "modem", "path", "server")
    home, gateway, inside, path, server = (lab.host(name, bridge=name == "path") for name in names)
    lab.link(home, gateway, names=("eth0", "lan"))
    lab.link(gateway, inside, names=("wan", "in"))
    lab.link(inside, path, names=("out", "near"))
    lab.link(path, server, names=("far", "eth0"))
    for host, last in ((home, 1), (server, 2)):
        host.run("ip", "addr", "add", f"10.9.0.{last}/24", "dev", "eth0")
    for host, devices in ((gateway, ("lan", "wan")), (inside, ("in", "out"))):
        host.run("ip", "link", "add", "br0", "type", "bridge")
        host.run("ip", "link", "set", "br0", "up")
        for device in devices:
            host.run("ip", "link", "set", device, "master", "br0")
    log = folder / "impair.log"
    delay = ("--delay", f"{modem.delay_ms}ms")
    lab.start(path, program(programs.IMPAIR), "run", "near", "--to", "far", *delay, log=log)
    wait_for("impairing near", log)
    found = Hidden(lab, home, gateway, inside, server, folder)
    found.shape(modem)
    return found


def wait_for(word: str, log: Path) -> None:
    """Wait until a program has said a word."""
    deadline = time.monotonic() + PATIENCE_S
    while word not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
