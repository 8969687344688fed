"""The plan of a lab run, made from a scenario: hosts, flows and their times, and paths.

Scenarios that the lab cannot run are refused here, before any namespace is made. The error has the key, its value, the
allowed values and a hint.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gamelane import _native, quantity
from gamelane.catalogue import APPS, MMO
from gamelane.errors import ScenarioError
from gamelane.lab.tcp import Tcp, tcp_of

DATAGRAMS = tuple(word for word, app in APPS.items() if app.transport == "udp" and app.group != "gateway")
OVER_TCP = ("bulk", "web", "dash", MMO)
"""Applications over TCP that the lab can run."""
MOST_PLAYERS = 1000
"""Most players of a game over TCP: each has two sockets in one program."""
DIRECTIONS = ("up", "down")


@dataclass(frozen=True)
class Path:
    """The path beyond the link. A flow with its own loss or jitter has a path of its own, as in the simulator."""

    rtt_s: float
    owner: str = ""
    loss: Any = field(default="0%", compare=False)
    jitter: Any = field(default="0s", compare=False)


@dataclass(frozen=True)
class Flow:
    """A flow between a host at home and its own server."""

    number: int
    name: str
    app: str
    host: str
    start_s: float
    stop_s: float
    dscp: int
    path: Path
    tcp: Tcp
    keys: Mapping[str, Any]

    @property
    def up(self) -> bool:
        """Whether a transfer in one direction is an upload."""
        return bool(self.keys.get("direction", "down") == "up")


@dataclass(frozen=True)
class Plan:
    """A lab run: link, gateway, hosts and flows."""

    name: str
    toml: str
    duration_s: float
    warmup_s: float
    mtu: int
    link: Mapping[str, Any]
    gateway: Mapping[str, Any]
    hosts: tuple[str, ...]
    flows: tuple[Flow, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """The distinct paths of the flows."""
        return tuple(dict.fromkeys(flow.path for flow in self.flows))


def plan(scenario: _native.Scenario, file: str, controls: Sequence[str] | None = None) -> Plan:
    """Make the plan of a scenario; raise `ScenarioError` if the lab cannot run it.

    `controls` are the congestion controls of the kernel that will run it; None for this one.
    """
    toml = scenario.to_toml()
    document = tomllib.loads(toml)
    refuse = Refusal(file)
    link, gateway = document["link"], document.get("gateway", {})
    if link["kind"] != "wired":
        refuse(
            "link.kind",
            link["kind"],
            "the lab cannot run this kind of link",
            '"wired"',
            "simulate it, or use a wired link with its rates",
        )
    for direction, follows in zip(DIRECTIONS, each_way(gateway.get("autorate"), None), strict=True):
        signals = (follows.get("signals") or []) if isinstance(follows, dict) else []
        for signal in {"backlog", "probe"}.intersection(signals):
            why = (
                "the modem of the lab does not report its backlog"
                if signal == "backlog"
                else "the gateway sends no probes in the lab"
            )
            key = f"gateway.autorate.{direction}.signals"
            refuse(key, signal, why, "tcp, game", f"--set '{key}=[\"tcp\"]'")
    enabled = [keys for keys in document["flow"] if keys.get("enabled", True)]
    flows = tuple(
        _flow(
            {**keys, "dscp": described["dscp"]},
            number=number,
            document=document,
            refuse=refuse,
            controls=controls,
        )
        for number, (keys, described) in enumerate(zip(enabled, scenario.flows(), strict=True))
    )
    _share(flows, refuse)
    hosts = tuple(dict.fromkeys(flow.host for flow in flows))
    return Plan(
        name=scenario.name,
        toml=toml,
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        mtu=link["mtu"],
        link=link,
        gateway=gateway,
        hosts=hosts,
        flows=flows,
    )


@dataclass(frozen=True)
class Refusal:
    """Refuses keys of a file."""

    file: str

    def __call__(self, key: str, value: Any, why: str, allowed: str | None, hint: str) -> NoReturn:
        """Raise an error with the reason, the allowed values if they are known, and a hint."""
        given = f'"{value}"' if isinstance(value, str) else str(value).lower()
        lines = [f"`{key}` in {self.file}: {why}"]
        lines += [] if value is None or isinstance(value, list) else [f"given:   {given}"]
        lines += [] if allowed is None else [f"allowed: {allowed}"]
        raise ScenarioError("\n  ".join([*lines, f"hint:    {hint}"]))


def _flow(
    keys: Mapping[str, Any],
    *,
    number: int,
    document: Mapping[str, Any],
    refuse: Refusal,
    controls: Sequence[str] | None,
) -> Flow:
    name, app = keys["name"], keys["app"]
    if app not in (*DATAGRAMS, *OVER_TCP):
        refuse(
            f"flow.{name}.app", app, "the lab cannot run this application", ", ".join((*DATAGRAMS, *OVER_TCP)),
            f"disable the flow with --set flow.{name}.enabled=false, or simulate it",
        )  # fmt: skip
    if app == MMO:
        _check_game(name, keys, refuse)
    link, duration_s = document["link"], seconds(document["duration"])
    rtt = keys.get("rtt", link["rtt"])
    apart = not (_nothing(keys["loss"]) and _nothing(keys["path_jitter"]))
    path = Path(seconds(rtt), name, keys["loss"], keys["path_jitter"]) if apart else Path(seconds(rtt))
    tcp = Tcp()
    if app not in DATAGRAMS:
        own = keys.get("tcp", {})
        given = own if "stack" in own else {**document.get("tcp", {}), **own}

        def place(key: str, value: Any, why: str, allowed: str, hint: str) -> NoReturn:
            table = f"flow.{name}.tcp" if key in own else "tcp"
            refuse(f"{table}.{key}", value, why, allowed, hint.replace("--set tcp.", f"--set {table}."))

        tcp = tcp_of(given, mtu=link["mtu"], refuse=place, loaded=controls)
    return Flow(
        number=number,
        name=name,
        app=app,
        host=keys.get("host", name),
        start_s=seconds(keys["start"]),
        stop_s=min(seconds(keys["stop"]), duration_s) if "stop" in keys else duration_s,
        dscp=keys["dscp"],
        path=path,
        tcp=tcp,
        keys=keys,
    )


def _check_game(name: str, keys: Mapping[str, Any], refuse: Refusal) -> None:
    """Refuse what the lab has no program for in a game over TCP."""
    if (players := keys.get("connections", 0)) > MOST_PLAYERS:
        why, allowed = f"the lab has at most {MOST_PLAYERS} players in a flow", f"1 to {MOST_PLAYERS}"
        hint = f"--set flow.{name}.connections={MOST_PLAYERS}, or simulate it"
        refuse(f"flow.{name}.connections", players, why, allowed, hint)
    for key, only, why in (
        ("carriage", "direct", "the lab opens a connection for each player"),
        ("paths", "link", "the lab has one path for all players of a flow"),
    ):
        if (value := keys.get(key, only)) != only:
            refuse(f"flow.{name}.{key}", value, why, f'"{only}"', f"--set flow.{name}.{key}={only}, or simulate it")


def _share(flows: tuple[Flow, ...], refuse: Refusal) -> None:
    """Refuse TCP flows of one host with different values where Linux has one setting per host."""
    seen: dict[str, Flow] = {}
    windows: dict[str, Flow] = {}
    for flow in (flow for flow in flows if flow.app not in DATAGRAMS):
        if not flow.up and windows.setdefault(flow.host, flow).tcp.window != flow.tcp.window:
            refuse(
                f"flow.{flow.name}.tcp.receive_window", flow.keys.get("tcp", {}).get("receive_window"),
                f"`{windows[flow.host].name}` receives there too, and Linux has one receive buffer setting per host",
                "the same value for all TCP flows of a host", f"give `{flow.name}` another host",
            )  # fmt: skip
        first = seen.setdefault(flow.host, flow)
        for key, value in flow.tcp.settings.items():
            if first.tcp.settings[key] != value:
                refuse(
                    f"flow.{flow.name}.host", flow.host,
                    f"`{first.name}` runs on the same host with another {key}, and Linux has one value per host",
                    "the same value for all TCP flows of a host", f"give `{flow.name}` another host",
                )  # fmt: skip


def _nothing(value: Any) -> bool:
    return all(quantity.magnitude(part) == 0 if isinstance(part, str) else False for part in each_way(value, ""))


def each_way(value: Any, absent: Any) -> tuple[Any, Any]:
    """Return the values for up and down. A scenario may write one value for both."""
    if isinstance(value, dict) and set(value) <= set(DIRECTIONS):
        return value.get("up", absent), value.get("down", absent)
    return value, value


def seconds(text: str) -> float:
    """Return a time of a checked scenario in seconds."""
    value = quantity.parse(text, "ms")
    return math.nan if value is None else value / 1e3
