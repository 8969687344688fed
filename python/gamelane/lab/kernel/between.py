"""Gateway, link and paths of the lab in the kernel: `gamelane-gateway` sets the queues up, and `tc` the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gamelane import programs
from gamelane.lab import sampler
from gamelane.lab.kernel import available, policy, refusals, words
from gamelane.lab.kernel.available import Available
from gamelane.lab.namespaces import Host
from gamelane.lab.plan import Path as Way
from gamelane.lab.plan import Plan, Refusal
from gamelane.lab.topology import Box, Household, bridge, mac, port, server_address


@dataclass(frozen=True)
class Kernel:
    """The gateway is a Linux router with a shaper.

    With `exact`, timers are never late: time is virtual. `available` is what the kernel that will run it has; None for
    this one.
    """

    exact: bool = False
    available: Available | None = None
    name: str = "kernel"
    routed: bool = True
    needed: tuple[programs.Program, ...] = (programs.GATEWAY,)
    tools: Mapping[str, str] = field(default_factory=lambda: {"tc": "iproute2"})

    def refuse(self, plan: Plan, refusal: Refusal) -> None:
        """Refuse what the kernel does not have."""
        refusals.refuse(plan, refusal, self.available or available.here())

    def lacking(self) -> str | None:
        """Return why this kernel cannot run it."""
        return available.lacking()

    def path(self, home: Household, box: Host, way: Way) -> None:  # noqa: ARG002 - the other engine needs `home`
        """Hand packets over between `near` and `far`, and add the delay of the path."""
        _run(box, words.path(way))

    def link(self, home: Household, box: Host, direction: str, ends: tuple[str, str]) -> None:
        """Switch between both ends, and add what the link does behind its queue."""
        _switch(box, ends)
        device = ends[1] if direction == "up" else ends[0]
        _run(box, words.link(home.plan, direction, device, exact=self.exact))

    def gateways(self, home: Household, modem: Host | None) -> None:
        """Route, and queue at the interface that sends each direction."""
        plan, boxes = home.plan, [home.gateway] if modem is None else [home.gateway, modem]
        at_home = {home.home_address(flow): mac(home.host_of(flow)) for flow in plan.flows}
        servers = {server_address(flow): mac(home.servers[flow.name]) for flow in plan.flows}
        for number, box in enumerate(boxes):
            before, behind = number > 0, number + 1 < len(boxes)
            _route(box, "lan", dict.fromkeys(at_home, mac(boxes[number - 1], "wan")) if before else at_home)
            _route(box, "wan", dict.fromkeys(servers, mac(boxes[number + 1], "lan")) if behind else servers)
        _queue(home, home.gateway, "gateway", policy.gateway(plan), exact=self.exact)
        if modem is not None:
            _queue(home, modem, "modem", policy.modem(plan), exact=self.exact)
        home.boxes = [Box(box, partial(sampler.ask, box)) for box in boxes]


def _queue(home: Household, box: Host, name: str, text: str, *, exact: bool) -> None:
    file = home.folder / f"{name}-policy.toml"
    file.write_text(text, encoding="utf-8")
    options = ["--engine", "kernel", "--lan", "lan", "--wan", "wan", "--queue-down", "lan"]
    options += ["--burst-us", "0"] if exact else []
    home.start(box, name, "queueing", programs.GATEWAY, "run", *options, str(file))


def _switch(box: Host, ends: tuple[str, str]) -> None:
    bridge(box, "through")
    for end in ends:
        port(box, end, "through")


def _route(box: Host, device: str, hosts: Mapping[str, str]) -> None:
    """Send the packets to `hosts`, addresses with their Ethernet addresses, out of a device."""
    lines = [
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0",
        f"ip addr add {OWN[device]}/32 dev {device}",
    ]
    for address, ethernet in hosts.items():
        lines += [
            f"ip route add {address}/32 dev {device}",
            f"ip neigh add {address} lladdr {ethernet} dev {device} nud permanent",
        ]
    _run(box, lines)


OWN = {"lan": "10.77.0.1", "wan": "10.77.0.2"}
"""Addresses of a router, on no other interface of the lab."""


def _run(box: Host, lines: Sequence[str]) -> None:
    if lines:
        box.run("sh", "-ec", "\n".join(lines))
