"""Lists the flows of analyzed captures for the page: those with trouble, the worst first.

A flow that two captures have comes once, with the numbers of the comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gamelane.analysis.capture_facts import DIRECTIONS, OTHER, Game, Way

Document = Mapping[str, Any]


class Flow(Game):
    """A flow of any kind, `seen` in these `captures`."""

    def __init__(
        self,
        kind: str,
        captures: tuple[int, ...],
        seen: tuple[Document, ...],
        ways: dict[str, Way],
        pair: Document | None,
    ):
        super().__init__(kind, (captures[0], seen[0]["id"]), pair or seen[0], ways, pair)
        self.captures = captures
        self.seen = seen

    @property
    def is_game(self) -> bool:
        """Whether it is a game or a call."""
        return self.kind != OTHER

    @property
    def packets(self) -> dict[str, int]:
        """Packets of each direction in the first capture that has them."""
        return {direction: self.seen[0][direction]["packets"] for direction in DIRECTIONS}

    @property
    def bytes(self) -> int:
        """IP bytes of both directions in the first capture that has them."""
        return sum(int(self.seen[0][direction]["bytes"]) for direction in DIRECTIONS)

    @property
    def has_trouble(self) -> bool:
        """Whether packets were lost, sent again or late, or waited long (docs/models/captures.md)."""
        return bool(self.trouble["suffered"])


def flows(found: Document) -> list[Flow]:
    """Return every listed flow: games first, each kind with the worst first, then those with the most packets."""

    def rank(flow: Flow) -> tuple[bool, bool, float, int]:
        behind_ms = flow.behind_ms(*DIRECTIONS) if flow.is_game else 0
        return not flow.is_game, not flow.has_trouble, -behind_ms, -sum(flow.packets.values())

    return sorted(_flows(found), key=rank)


def _flows(found: Document) -> Iterator[Flow]:
    listed = [{flow["id"]: flow for flow in capture["flows"]} for capture in found["captures"]]
    paired = set()
    for pair in (found["pair"] or {"flows": []})["flows"]:
        first, second = (listed[number].get(pair["ids"][number]) for number in (0, 1))
        if first is None or second is None:
            continue
        paired |= {(number, pair["ids"][number]) for number in (0, 1)}
        near_client = pair["near_client"] or 0
        ways = {}
        for direction in DIRECTIONS:
            near = near_client if direction == "up" else 1 - near_client
            sender, receiver = ((first, second), (second, first))[near]
            ways[direction] = Way(direction, (near, sender), receiver, pair[direction])
        yield Flow(pair["kind"], (0, 1), (first, second), ways, pair)
    for number, capture in enumerate(listed):
        for flow in capture.values():
            if (number, flow["id"]) not in paired:
                ways = {direction: Way(direction, (number, flow), flow, None) for direction in DIRECTIONS}
                yield Flow(flow["kind"], (number,), (flow,), ways, None)


def application(seen: Document) -> str:
    """Return the name of a flow's game or application; one that is only possible has a question mark."""
    found = seen["application"]
    return f"{found['name']}?" if found["confidence"] == "possible" else found["name"] or ""


def what(flow: Flow) -> str:
    """Return protocol and behaviour."""
    seen = flow.seen[0]
    if seen["protocol"] == "udp":
        behaviour = seen["udp"]["behaviour"]
        return "UDP" if behaviour == "other" else f"UDP {behaviour}"
    thin = [direction for direction in ("up", "down") if seen["tcp"][direction]["thin"]]
    return "TCP thin" if len(thin) == 2 else f"TCP thin {thin[0]}" if thin else "TCP"
