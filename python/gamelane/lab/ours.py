"""Gateway, link and paths of gamelane's own programs: `gamelane-gateway` and `gamelane-impair`, in user space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gamelane import programs, quantity, toml
from gamelane.lab import sampler
from gamelane.lab.namespaces import Host
from gamelane.lab.plan import DIRECTIONS, Plan, Refusal, each_way
from gamelane.lab.plan import Path as Way
from gamelane.lab.topology import Box, Household, of_link, shapes

FASTER = 1.02
"""Rate of the emulated link over the gateway's rate. If the link process wakes up late, its backlog can then drain."""


@dataclass(frozen=True)
class Ours:
    """The gateway is `gamelane-gateway` with the `[gateway]` of the scenario. A second one is the modem behind it."""

    name: str = "lab"
    routed: bool = False
    needed: tuple[programs.Program, ...] = (programs.GATEWAY, programs.IMPAIR)
    tools: Mapping[str, str] = field(default_factory=dict)

    def refuse(self, plan: Plan, refusal: Refusal) -> None:
        """Refuse nothing: the gateway reads every `[gateway]`."""

    def lacking(self) -> str | None:
        """Lack nothing but programs."""
        return None

    def path(self, home: Household, box: Host, way: Way) -> None:
        """Start a path: half the round trip in each direction, with loss and jitter."""
        values = _delayed(each_way(way.jitter, "0s"), (way.rtt_s / 2,) * 2) | _both("loss", each_way(way.loss, "0%"))
        _impair(home, box, box.name, values, ("near", "far"))

    def link(self, home: Household, box: Host, direction: str, ends: tuple[str, str]) -> None:
        """Start one direction of the link: its rate, delay, jitter and loss. The gateway has the queue of the link."""
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

    def gateways(self, home: Household, modem: Host | None) -> None:
        """Start the gateway, and the modem if there is one."""
        shape = shapes(home.plan.gateway)
        link = home.plan.link
        unshaped = [direction for direction in DIRECTIONS if shape[direction] is None]
        words = [f"--set=gateway.shape.{direction}={link[direction]}" for direction in unshaped]
        queues = home.plan.gateway
        alone = [each for each in unshaped if of_link(queues[each]) != queues[each]]
        words += [f"--set=gateway.{direction}.bandwidth=false" for direction in alone]
        ends = ("--lan", "lan", "--wan", "wan")
        boxes = [home.gateway] if modem is None else [home.gateway, modem]
        home.boxes = [Box(box, partial(sampler.ask, box)) for box in boxes]
        home.start(home.gateway, "gateway", "forwarding", programs.GATEWAY, "run", *ends, str(home.policy), *words)
        if modem is None:
            return
        file = home.folder / "modem-policy.toml"
        rates = {direction: link[direction] for direction in DIRECTIONS if direction not in unshaped}
        gateway = home.plan.gateway
        own = {"up": of_link(gateway.get("modem", {})), "down": of_link(gateway.get("isp", {})), "shape": rates}
        kept = {key: gateway[key] for key in ("priority", "class", "rule") if key in gateway}
        document = {"name": "modem", "link": dict(link), "gateway": {**kept, **own}}
        flows = home.plan.toml[home.plan.toml.index("[[flow]]") :]
        file.write_text(toml.lines(document) + flows, encoding="utf-8")
        home.start(modem, "modem", "forwarding", programs.GATEWAY, "run", *ends, str(file))


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
    home.start(box, name, "impairing", programs.IMPAIR, *words)
