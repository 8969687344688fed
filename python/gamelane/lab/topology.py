"""The household as namespaces: hosts at home on a switch, the gateway, the link, paths, and a server for each flow.

    hosts - home - [link, down] - gateway - (modem) - [link, up] - internet - [path] - servers

`Between` fills the boxes between home and servers: with gamelane's programs, or with the kernel's queues. The modem
exists only if the gateway shapes. `home` and `internet` are kernel bridges. ARP entries are set beforehand, so that
only packets of the scenario are on the links.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gamelane.errors import LabError
from gamelane.lab import waiting
from gamelane.lab.namespaces import Host, Lab
from gamelane.lab.plan import DIRECTIONS, Flow, Plan, Refusal, each_way
from gamelane.lab.plan import Path as Way
from gamelane.lab.tcp import settings_of
from gamelane.programs import Program


@dataclass(frozen=True)
class Point:
    """An interface where packets are captured."""

    host: Host
    interface: str


@dataclass(frozen=True)
class Box:
    """A host with queues. `status` returns its counters in the form of the gateway's `/status`."""

    host: Host
    status: Callable[[], dict[str, Any]]


@dataclass
class Household:
    """Namespaces and programs of a run."""

    plan: Plan
    lab: Lab
    folder: Path
    policy: Path
    """The scenario, for the programs that read it."""
    hosts: dict[str, Host] = field(default_factory=dict)
    servers: dict[str, Host] = field(default_factory=dict)
    """By flow."""
    gateway: Host = field(init=False)
    home: Point = field(init=False)
    """Next to the hosts."""
    lan: Point = field(init=False)
    """The gateway's interface to the home."""
    wan: Point = field(init=False)
    """The interface to the internet: of the gateway, or of the modem behind it."""
    sites: list[Point] = field(default_factory=list)
    """Next to the servers, one for each path."""
    boxes: list[Box] = field(default_factory=list)
    """The gateway, and the modem if there is one."""
    programs: list[tuple[subprocess.Popen[str], Path]] = field(default_factory=list)

    def host_of(self, flow: Flow) -> Host:
        """Return the host of a flow at home."""
        return self.hosts[flow.host]

    def home_address(self, flow: Flow) -> str:
        """Return the address of a flow's host at home."""
        return f"10.77.1.{self.plan.hosts.index(flow.host) + 1}"

    def start(self, box: Host, name: str, ready: str, program: Program, *words: str) -> None:
        """Start a program at a box, and wait until its log has the word `ready`."""
        log = self.folder / f"{name}.log"
        self.programs.append((self.lab.start(box, program.find(), *words, log=log), log))
        waiting.for_word(self.programs[-1][0], log, ready)

    def check(self) -> None:
        """Raise if a gateway or path program has ended."""
        for program, log in self.programs:
            if program.poll() is not None:
                raise LabError(f"{log.stem} ended: {log.read_text(encoding='utf-8').strip() or program.returncode}")


class Between(Protocol):
    """What gateway, modem, link and paths are made of."""

    @property
    def name(self) -> str:
        """The word of `--engine`."""

    @property
    def routed(self) -> bool:
        """Whether the gateway is a router: hosts send frames to its Ethernet addresses."""

    @property
    def needed(self) -> tuple[Program, ...]:
        """Programs that it needs besides those of every lab."""

    @property
    def tools(self) -> Mapping[str, str]:
        """Tools that it needs besides those of every lab, and their Debian packages."""

    def refuse(self, plan: Plan, refusal: Refusal) -> None:
        """Refuse a scenario that this cannot run."""

    def lacking(self) -> str | None:
        """Return why this machine cannot run it, besides programs and tools; None if it can."""

    def path(self, home: Household, box: Host, way: Way) -> None:
        """Start a path between the interfaces `near` and `far`: half the round trip each way, loss and jitter."""

    def link(self, home: Household, box: Host, direction: str, ends: tuple[str, str]) -> None:
        """Start one direction of the link behind its queue: time to send each packet, delay, jitter and loss."""

    def gateways(self, home: Household, modem: Host | None) -> None:
        """Start the gateway, and the modem if there is one.

        The gateway holds the queue of the link at the link's rate. In a direction in which the scenario sets a rate
        below it (`gateway.shape`), the modem holds that queue.
        """


def server_address(flow: Flow) -> str:
    """Return the address of the flow's own server. Captures tell flows apart by it."""
    return f"10.77.{2 + flow.number // 250}.{1 + flow.number % 250}"


def build(lab: Lab, plan: Plan, scenario: Path, folder: Path, between: Between) -> Household:
    """Make namespaces and links, and start gateways and paths. Programs read the file `scenario`."""
    home = Household(plan, lab, folder, scenario)
    switch, down = lab.host("home", bridge=True), lab.host("link-down", bridge=True)
    home.gateway, up = lab.host("gateway", bridge=True), lab.host("link-up", bridge=True)
    internet = lab.host("internet", bridge=True)
    mtu = plan.mtu
    bridge(switch, "switch")
    bridge(internet, "isp")
    lab.link(switch, down, names=("gw", "home"), mtu=mtu)
    port(switch, "gw", "switch")
    lab.link(down, home.gateway, names=("out", "lan"), mtu=mtu)
    modem = lab.host("modem", bridge=True) if any(shapes(plan.gateway).values()) else None
    last = modem or home.gateway
    if modem is not None:
        lab.link(home.gateway, modem, names=("wan", "lan"), mtu=mtu)
    lab.link(last, up, names=("wan", "in"), mtu=mtu)
    lab.link(up, internet, names=("out", "access"), mtu=mtu)
    port(internet, "access", "isp")
    home.home, home.lan, home.wan = Point(switch, "gw"), Point(home.gateway, "lan"), Point(last, "wan")
    for number, way in enumerate(plan.paths):
        box = lab.host(f"path{number}", bridge=True)
        lab.link(box, internet, names=("near", f"near{number}"), mtu=mtu)
        lab.link(box, internet, names=("far", f"far{number}"), mtu=mtu)
        bridge(internet, f"site{number}")
        port(internet, f"near{number}", "isp")
        port(internet, f"far{number}", f"site{number}")
        home.sites.append(Point(internet, f"far{number}"))
        between.path(home, box, way)
    for number, name in enumerate(plan.hosts):
        host = home.hosts[name] = lab.host(name, bridge=True)
        lab.link(host, switch, names=("eth0", f"host{number}"), mtu=mtu)
        port(switch, f"host{number}", "switch")
    for flow in plan.flows:
        server = home.servers[flow.name] = lab.host(f"server of {flow.name}", bridge=True)
        lab.link(server, internet, names=("eth0", f"server{flow.number}"), mtu=mtu)
        port(internet, f"server{flow.number}", f"site{plan.paths.index(flow.path)}")
    _addresses(home, routed=between.routed)
    between.link(home, down, "down", ("home", "out"))
    between.link(home, up, "up", ("in", "out"))
    between.gateways(home, modem)
    return home


def shapes(gateway: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the rate of the gateway's own shaper in each direction."""
    values = each_way(gateway.get("shape"), None)
    return {way: value if isinstance(value, str) else None for way, value in zip(DIRECTIONS, values, strict=True)}


def of_link(queue: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a queue of the link, which has no shaper: CAKE must not take the link's rate for its own."""
    return {"bandwidth": False, **queue} if queue.get("queue") == "cake" else queue


def bridge(host: Host, name: str) -> None:
    """Make a switch."""
    add = f"ip link add {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
    host.run("sh", "-ec", f"{add}; ip link set dev {name} up")


def port(host: Host, interface: str, switch: str) -> None:
    """Join an interface to a switch."""
    host.run("ip", "link", "set", interface, "master", switch)


def _addresses(home: Household, *, routed: bool) -> None:
    """Set addresses, ARP entries, TCP settings of hosts, and routes with the TCP settings of each flow."""
    plan = home.plan
    ways = {True: mac(home.lan.host, "lan"), False: mac(home.wan.host, "wan")} if routed else {}
    at_home = {name: (f"10.77.1.{number + 1}", home.hosts[name]) for number, name in enumerate(plan.hosts)}
    macs = {id(host): mac(host) for host in (*home.hosts.values(), *home.servers.values())}
    commands: dict[str, list[str]] = {}
    for name, (address, _) in at_home.items():
        commands[name] = [f"ip addr add {address}/32 dev eth0"]
    for flow in plan.flows:
        address, host = at_home[flow.host]
        server, theirs = server_address(flow), home.servers[flow.name]
        words = " ".join(flow.tcp.route)
        commands[flow.host] += [
            f"ip neigh add {server} lladdr {ways.get(True) or macs[id(theirs)]} dev eth0 nud permanent",
            f"ip route add {server} dev eth0 src {address} {words}",
        ]
        own = [
            f"ip addr add {server}/32 dev eth0",
            f"ip neigh add {address} lladdr {ways.get(False) or macs[id(host)]} dev eth0 nud permanent",
            f"ip route add {address} dev eth0 src {server} {words}",
            *_settings([flow]),
        ]
        theirs.run("sh", "-ec", "\n".join(own))
    for name, own in commands.items():
        settings = _settings([flow for flow in plan.flows if flow.host == name])
        home.hosts[name].run("sh", "-ec", "\n".join([*own, *settings]))


def _settings(flows: list[Flow]) -> list[str]:
    tcp = [flow.tcp for flow in flows if flow.tcp.route]
    return [f"sysctl -qw net.ipv4.{key}='{value}'" for key, value in settings_of(tcp).items()] if tcp else []


def mac(host: Host, interface: str = "eth0") -> str:
    """Return the Ethernet address of an interface."""
    return str(host.ip("link", "show", "dev", interface)[0]["address"])
