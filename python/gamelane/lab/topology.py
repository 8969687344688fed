"""The household as namespaces: hosts at home on a switch, the gateway, the link, paths, and a server for each flow.

    hosts - home - [link, down] - gateway - (modem) - [link, up] - internet - [path] - servers

Each name in brackets is a process of `gamelane-impair`. The gateway is `gamelane-gateway` with the `[gateway]` of the
scenario. If it shapes, a second `gamelane-gateway` is the modem behind it. `home` and `internet` are kernel bridges.
ARP entries are set beforehand, so that only packets of the scenario are on the links.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gamelane import programs, quantity
from gamelane.errors import LabError
from gamelane.lab import toml, waiting
from gamelane.lab.namespaces import Host, Lab
from gamelane.lab.plan import DIRECTIONS, Flow, Plan, each_way
from gamelane.lab.plan import Path as Way
from gamelane.lab.tcp import settings_of

FASTER = 1.02
"""Rate of the emulated link over the gateway's rate. If the link process wakes up late, its backlog can then drain."""


@dataclass(frozen=True)
class Point:
    """An interface where packets are captured."""

    host: Host
    interface: str


@dataclass
class Household:
    """Namespaces and programs of a run."""

    plan: Plan
    lab: Lab
    folder: Path
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
    policy: Path = field(init=False)
    boxes: list[Host] = field(default_factory=list)
    """Hosts with queues: the gateway, and the modem if there is one."""
    programs: list[tuple[subprocess.Popen[str], Path]] = field(default_factory=list)

    def host_of(self, flow: Flow) -> Host:
        """Return the host of a flow at home."""
        return self.hosts[flow.host]

    def home_address(self, flow: Flow) -> str:
        """Return the address of a flow's host at home."""
        return f"10.77.1.{self.plan.hosts.index(flow.host) + 1}"

    def check(self) -> None:
        """Raise if a gateway or path program has ended."""
        for program, log in self.programs:
            if program.poll() is not None:
                raise LabError(f"{log.stem} ended: {log.read_text(encoding='utf-8').strip() or program.returncode}")


def server_address(flow: Flow) -> str:
    """Return the address of the flow's own server. Captures tell flows apart by it."""
    return f"10.77.{2 + flow.number // 250}.{1 + flow.number % 250}"


def build(lab: Lab, plan: Plan, scenario: Path, folder: Path) -> Household:
    """Make namespaces and links, and start gateways and paths. The gateway reads `[gateway]` of the file `scenario`."""
    home = Household(plan, lab, folder)
    switch, down = lab.host("home", bridge=True), lab.host("link-down", bridge=True)
    home.gateway, up = lab.host("gateway", bridge=True), lab.host("link-up", bridge=True)
    internet = lab.host("internet", bridge=True)
    mtu = plan.mtu
    _bridge(switch, "switch")
    _bridge(internet, "isp")
    lab.link(switch, down, names=("gw", "home"), mtu=mtu)
    _port(switch, "gw", "switch")
    lab.link(down, home.gateway, names=("out", "lan"), mtu=mtu)
    shaped = [direction for direction in DIRECTIONS if _shape(plan.gateway)[direction] is not None]
    last = home.gateway
    if shaped:
        last = lab.host("modem", bridge=True)
        lab.link(home.gateway, last, names=("wan", "lan"), mtu=mtu)
    lab.link(last, up, names=("wan", "in"), mtu=mtu)
    lab.link(up, internet, names=("out", "access"), mtu=mtu)
    _port(internet, "access", "isp")
    home.home, home.lan, home.wan = Point(switch, "gw"), Point(home.gateway, "lan"), Point(last, "wan")
    for number, way in enumerate(plan.paths):
        box = lab.host(f"path{number}", bridge=True)
        lab.link(box, internet, names=("near", f"near{number}"), mtu=mtu)
        lab.link(box, internet, names=("far", f"far{number}"), mtu=mtu)
        _bridge(internet, f"site{number}")
        _port(internet, f"near{number}", "isp")
        _port(internet, f"far{number}", f"site{number}")
        home.sites.append(Point(internet, f"far{number}"))
        _start_path(home, box, number, way)
    for number, name in enumerate(plan.hosts):
        host = home.hosts[name] = lab.host(name, bridge=True)
        lab.link(host, switch, names=("eth0", f"host{number}"), mtu=mtu)
        _port(switch, f"host{number}", "switch")
    for flow in plan.flows:
        server = home.servers[flow.name] = lab.host(f"server of {flow.name}", bridge=True)
        lab.link(server, internet, names=("eth0", f"server{flow.number}"), mtu=mtu)
        _port(internet, f"server{flow.number}", f"site{plan.paths.index(flow.path)}")
    _addresses(home)
    _start_link(home, down, "down", ("home", "out"))
    _start_link(home, up, "up", ("in", "out"))
    _start_gateways(home, scenario, last if shaped else None)
    return home


def _bridge(host: Host, name: str) -> None:
    add = f"ip link add {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
    host.run("sh", "-ec", f"{add}; ip link set dev {name} up")


def _port(host: Host, interface: str, bridge: str) -> None:
    host.run("ip", "link", "set", interface, "master", bridge)


def _addresses(home: Household) -> None:
    """Set addresses, ARP entries, TCP settings of hosts, and routes with the TCP settings of each flow."""
    plan = home.plan
    at_home = {name: (f"10.77.1.{number + 1}", home.hosts[name]) for number, name in enumerate(plan.hosts)}
    macs = {id(host): _mac(host) for host in (*home.hosts.values(), *home.servers.values())}
    commands: dict[str, list[str]] = {}
    for name, (address, _) in at_home.items():
        commands[name] = [f"ip addr add {address}/32 dev eth0"]
    for flow in plan.flows:
        address, host = at_home[flow.host]
        server, theirs = server_address(flow), home.servers[flow.name]
        words = " ".join(flow.tcp.route)
        commands[flow.host] += [
            f"ip neigh add {server} lladdr {macs[id(theirs)]} dev eth0 nud permanent",
            f"ip route add {server} dev eth0 src {address} {words}",
        ]
        own = [
            f"ip addr add {server}/32 dev eth0",
            f"ip neigh add {address} lladdr {macs[id(host)]} dev eth0 nud permanent",
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


def _mac(host: Host) -> str:
    return str(host.ip("link", "show", "dev", "eth0")[0]["address"])


def _start_path(home: Household, box: Host, number: int, way: Way) -> None:
    """Start a path: half the round trip in each direction, with loss and jitter."""
    values = _delayed(each_way(way.jitter, "0s"), (way.rtt_s / 2,) * 2) | _both("loss", each_way(way.loss, "0%"))
    _impair(home, box, f"path{number}", values, ("near", "far"))


def _start_link(home: Household, box: Host, direction: str, ends: tuple[str, str]) -> None:
    """Start one direction of the link: its rate, delay, jitter and loss. The queue of the link is in the gateway."""
    link, at = home.plan.link, DIRECTIONS.index(direction)
    rate = quantity.parse(link[direction], "bit/s") or 0.0
    pair = [0.0, 0.0]
    pair[at] = quantity.parse(link["delay"], "ms") or 0.0
    jitter = ["0s", "0s"]
    jitter[at] = each_way(link["jitter"], "0s")[at]
    values = _delayed((jitter[0], jitter[1]), (pair[0] / 1e3, pair[1] / 1e3)) | {
        "rate": {direction: f"{round(rate * FASTER)}bit"},
        "limit": {direction: "10000p"},
        "overhead": {direction: each_way(link["overhead"], "none")[at]},
        "loss": {direction: each_way(link["loss"], "0%")[at]},
    }
    _impair(home, box, f"link-{direction}", values, ends)


def _delayed(jitter: tuple[str, str], base_s: tuple[float, float]) -> dict[str, Any]:
    """Translate jitter: a scenario adds it to the delay, `gamelane-impair` spreads it to both sides of the delay."""
    half_s = [(quantity.parse(one, "ms") or 0.0) / 2e3 for one in jitter]
    delays = {way: _time(base + more) for way, base, more in zip(DIRECTIONS, base_s, half_s, strict=True)}
    varied = {way: {"spread": _time(more)} for way, more in zip(DIRECTIONS, half_s, strict=True) if more}
    return {"delay": delays} | ({"jitter": varied} if varied else {})


def _both(key: str, values: tuple[Any, Any]) -> dict[str, Any]:
    return {key: dict(zip(DIRECTIONS, values, strict=True))}


def _time(at_s: float) -> str:
    return f"{round(at_s * 1e9)}ns"


def _impair(home: Household, box: Host, name: str, values: Mapping[str, Any], ends: tuple[str, str]) -> None:
    file = home.folder / f"{name}.toml"
    file.write_text(toml.lines(values), encoding="utf-8")
    words = ("run", ends[0], "--to", ends[1], "--file", str(file))
    _start(home, box, name, "impairing", programs.IMPAIR, *words)


def _start_gateways(home: Household, scenario: Path, modem: Host | None) -> None:
    """Start the gateway, and the modem if there is one.

    The gateway holds the queue of the link: it shapes to the link's rate. In a direction in which the scenario sets a
    rate below it (`gateway.shape`), the modem holds that queue.
    """
    home.policy = scenario
    shape = _shape(home.plan.gateway)
    link = home.plan.link
    unshaped = [direction for direction in DIRECTIONS if shape[direction] is None]
    words = [f"--set=gateway.shape.{direction}={link[direction]}" for direction in unshaped]
    ends = ("--lan", "lan", "--wan", "wan")
    home.boxes = [home.gateway] if modem is None else [home.gateway, modem]
    _start(home, home.gateway, "gateway", "forwarding", programs.GATEWAY, "run", *ends, str(scenario), *words)
    if modem is None:
        return
    file = home.folder / "modem-policy.toml"
    rates = {direction: link[direction] for direction in DIRECTIONS if direction not in unshaped}
    gateway = home.plan.gateway
    own = {"up": gateway.get("modem", {}), "down": gateway.get("isp", {}), "shape": rates}
    kept = {key: gateway[key] for key in ("priority", "class", "rule") if key in gateway}
    document = {"name": "modem", "link": dict(link), "gateway": {**kept, **own}}
    flows = home.plan.toml[home.plan.toml.index("[[flow]]") :]
    file.write_text(toml.lines(document) + flows, encoding="utf-8")
    _start(home, modem, "modem", "forwarding", programs.GATEWAY, "run", *ends, str(file))


def _shape(gateway: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the rate of the gateway's own shaper in each direction."""
    values = each_way(gateway.get("shape"), None)
    return {way: value if isinstance(value, str) else None for way, value in zip(DIRECTIONS, values, strict=True)}


def _start(home: Household, box: Host, name: str, ready: str, program: programs.Program, *words: str) -> None:
    log = home.folder / f"{name}.log"
    home.programs.append((home.lab.start(box, program.find(), *words, log=log), log))
    waiting.for_word(home.programs[-1][0], log, ready)
