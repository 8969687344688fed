"""A gateway that forwards between a home and a server on the internet, in network namespaces."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from gamelane.lab.namespaces import Host, Lab


@dataclass(frozen=True)
class Routed:
    """The hosts. Home is 10.9.1.2 and fd09:1::2, the server 10.9.2.2 and fd09:2::2; `eth0` faces the internet."""

    lab: Lab
    home: Host
    gateway: Host
    internet: Host

    def paste(self, lines: Sequence[str]) -> str:
        """Paste lines into a shell of the gateway, and return what it says on stderr."""
        shell = self.gateway.command(["sh", "-c", "\n".join(lines)])
        return subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False).stderr

    def packets(self, device: str) -> dict[str, int]:
        """Return the packets that each class of HTB has sent."""
        shown = self.gateway.run("tc", "-s", "class", "show", "dev", device)
        return {name: int(count) for name, count in re.findall(r"class htb (\S+) .*\n Sent \d+ bytes (\d+) pkt", shown)}


def routed(lab: Lab) -> Routed:
    """Make the hosts, and join them over IPv4 and IPv6."""
    home, gateway, internet = (lab.host(name) for name in ("home", "gateway", "internet"))
    lab.link(home, gateway, names=("eth0", "eth1"))
    lab.link(internet, gateway, names=("eth0", "eth0"))
    for host, device, net, last in (
        (home, "eth0", 1, 2),
        (gateway, "eth1", 1, 1),
        (internet, "eth0", 2, 2),
        (gateway, "eth0", 2, 1),
    ):
        host.run("ip", "addr", "add", f"10.9.{net}.{last}/24", "dev", device)
        host.run("ip", "addr", "add", f"fd09:{net}::{last}/64", "dev", device, "nodad")
    for host, net in ((home, 1), (internet, 2)):
        host.run("ip", "route", "add", "default", "via", f"10.9.{net}.1")
        host.run("ip", "route", "add", "default", "via", f"fd09:{net}::1")
    gateway.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    return Routed(lab, home, gateway, internet)
