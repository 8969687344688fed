"""What a Linux gateway has to do for a scenario: a rate, a framing and a queue for each direction.

In the model the queue builds up at the gateway. On a real gateway it does so only if the gateway shapes to a rate below
the link's. So the rate is that of the queue (`bandwidth`), or else `gateway.shape`, or else `SHARE` of the link's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gamelane import quantity
from gamelane.apply.framing import Framing, framing
from gamelane.catalogue import QUEUES

SHARE = 0.95
WAYS = ("up", "down")


@dataclass(frozen=True)
class Lane:
    """One direction."""

    way: str
    queue: Mapping[str, Any]
    rate_bps: float
    why: str
    """The source of the rate, for a comment."""
    framing: Framing

    @property
    def kind(self) -> str:
        """The discipline's word."""
        return kind_of(self.queue)

    @property
    def kbit(self) -> int:
        """Rate in kbit/s."""
        return round(self.rate_bps / 1e3)


@dataclass(frozen=True)
class Plan:
    """The gateway of a scenario."""

    document: dict[str, Any]
    lanes: tuple[Lane, ...]
    refused: tuple[str, ...]
    """Why no shaper on Linux can do this; empty if one can."""
    unsaid: tuple[str, ...]
    """What only gamelane's own gateway does."""
    elsewhere: tuple[str, ...] = ()
    """What no gateway does: the queue is that of the modem or of the provider."""

    @property
    def gateway(self) -> dict[str, Any]:
        """The table `[gateway]`."""
        found: dict[str, Any] = self.document["gateway"]
        return found

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows that take part."""
        return [flow for flow in self.document.get("flow", []) if flow.get("enabled", True)]

    @property
    def overhead(self) -> Any:
        """The link's `overhead`."""
        return _overhead(self.document["link"])

    @property
    def mtu(self) -> int:
        """Bytes of the largest IP packet."""
        return int(self.document["link"].get("mtu", 1500))


def kind_of(queue: Mapping[str, Any]) -> str:
    """Return the discipline's word."""
    return str(queue.get("queue", "fifo"))


def has_classes(queue: Mapping[str, Any]) -> bool:
    """Whether a queue of a scenario divides packets into classes."""
    return QUEUES[kind_of(queue)].isolates == "classes"


def plan(document: dict[str, Any], today: dict[str, Any] | None = None) -> Plan:
    """Read the TOML of a scenario, with all defaults filled in. `today` is that of the gateway to be changed."""
    gateway, link = document["gateway"], document["link"]
    if link["kind"] == "wifi-g":
        reason = "on Wi-Fi the queue builds up in the radio's driver, below every queue discipline."
        return Plan(document, (), (reason,), ())
    shape = gateway.get("shape") or {}
    lanes = [_lane(way, gateway, link, shape) for way in WAYS if _is_here(way, gateway, shape)]
    refused = tuple(each for each in lanes if isinstance(each, str))
    if not lanes:
        refused = ("it is a plain FIFO without a shaper, so there is nothing to set.",)
    here = tuple(each for each in lanes if isinstance(each, Lane))
    return Plan(document, here, refused, _unsaid(gateway), _elsewhere(gateway, shape, today))


def _is_here(way: str, gateway: Mapping[str, Any], shape: Any) -> bool:
    """Whether the queue of a direction is the gateway's. A FIFO may be that of the modem or of the provider."""
    queue = gateway[way]
    if kind_of(queue) != "fifo" or not isinstance(shape, Mapping) or way in shape:
        return True
    return "limit" in queue and not shape


def _elsewhere(gateway: Mapping[str, Any], shape: Any, today: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return a sentence for each queue that differs from today's, but is not the gateway's."""
    changed = () if today is None else tuple(way for way in WAYS if gateway[way] != today["gateway"][way])
    return tuple(
        f"`gateway.{way}` changes a FIFO that nothing shapes. It is in the modem or at the provider and stays as it "
        f"is: add `gateway.shape.{way}`, a little below the link's lowest rate."
        for way in changed
        if not _is_here(way, gateway, shape)
    )


def _lane(way: str, gateway: Mapping[str, Any], link: Mapping[str, Any], shape: Any) -> Lane | str:
    queue = gateway[way]
    layer = framing(queue.get("overhead", _overhead(link)), way)
    own = queue.get("bandwidth") or None
    shaped = own or (shape.get(way) if isinstance(shape, Mapping) else shape)
    if shaped:
        bps = quantity.parse(str(shaped), "bit/s") or 0.0
        key = f"gateway.{way}.bandwidth" if own else "gateway.shape"
        return Lane(way, queue, bps, f"the rate of {key}", layer)
    if way in link.get("trace", {}) or not link.get(way):
        return (
            f"the rate of this link varies ({way}), and a shaper needs a fixed one: add `gateway.shape.{way}`, "
            "a little below the lowest rate."
        )
    bps = quantity.parse(str(link[way]), "bit/s") or 0.0
    why = f"{SHARE:.0%} of the link's {link[way]}, so that packets queue here"
    return Lane(way, queue, bps * SHARE, why, layer)


def _overhead(link: Mapping[str, Any]) -> Any:
    return "docsis" if link["kind"] == "docsis" else link.get("overhead", "none")


def _unsaid(gateway: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    if gateway.get("voap"):
        found.append("VoAP lowers TCP windows, and Linux cannot; `gamelane gateway` can.")
    if gateway.get("autorate"):
        found.append("autorate adapts the rate to the link, and these lines keep it; `gamelane gateway` adapts it.")
    return tuple(found)
