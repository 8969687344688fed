"""Lists the flows of analyzed captures for terminal and page: those with trouble, the worst first.

A flow that two captures have comes once, with the numbers of the comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gamelane.analysis.capture_facts import DIRECTIONS, OTHER, THIN_TCP, VOICE, Game, Way

Document = Mapping[str, Any]

LATE = 0.01
"""Share of late messages that counts as trouble. A computer that plays is itself a little late now and then."""
DELAY_MS = 100.0
"""Delay above the least that counts as trouble. As `LATE`, this limit is ours."""
SIDES = ("server", "client")
KINDS = {
    "game": ("game over UDP", "games over UDP"),
    VOICE: ("call", "calls"),
    THIN_TCP: ("thin TCP",) * 2,
    OTHER: ("other",) * 2,
}

SURE = {"certain": "This is certain.", "likely": "This is likely.", "guess": "This is a guess."}
"""How sure the judgement is, in words."""


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
    def round_trips(self) -> Document | None:
        """RTT between the two captures, else of one (`path_or_half`); nothing if none was measured."""
        if self.pair:
            trips: Document = self.pair["rtt_ms"]
            return trips if trips["count"] else None
        return path_or_half(self.seen[0]["tcp"]) if "tcp" in self.seen[0] else None

    @property
    def has_trouble(self) -> bool:
        """Whether packets were lost, sent again or late, or waited long (docs/models/captures.md)."""
        return any(self._suffered(way) for way in self.ways.values()) or self._delayed()

    def _suffered(self, way: Way) -> bool:
        if way.half and (way.half["resent"] or way.half["zero_windows"]["count"] or any(way.lag_ms.values())):
            return True
        if not self.is_game:
            return bool(way.pair and way.pair["lost"])
        if way.lost and way.lost[0]:
            return True
        of = way.updates
        return bool(of and way.is_steady and (of["gaps"] or of["late"] > LATE * max(self.packets[way.direction], 1)))

    def _delayed(self) -> bool:
        """Whether a game's slowest packets, or half of another flow's, took long: for the latter a queue stood."""
        share = "p99" if self.is_game else "p50"
        trips = self.round_trips
        if trips and trips[share] - trips["min"] >= DELAY_MS:
            return True
        delays = [way.pair["delay_above_least_ms"][share] for way in self.ways.values() if way.pair]
        return any(delay is not None and delay >= DELAY_MS for delay in delays)


def path_or_half(tcp: Document) -> Document | None:
    """Return the RTT of the path, or of the longer half if the path has few samples; nothing if none was measured.

    A transfer has few of the path: they need data in both directions within a second.
    """
    whole: Document = tcp["rtt_ms"]
    halves: list[Document] = [
        tcp[f"rtt_to_{side}_ms"][method] for side in SIDES for method in ("acknowledgements", "timestamps")
    ]
    most = max(of["count"] for of in (whole, *halves))
    if not most:
        return None
    if whole["count"] >= most / 2:
        return whole
    return max((half for half in halves if half["count"] >= most / 10), key=lambda half: half["p50"])


def flows(found: Document) -> list[Flow]:
    """Return every listed flow: games first, each kind with the worst first, then those with the most packets."""

    def rank(flow: Flow) -> tuple[bool, bool, float, int]:
        return not flow.is_game, not flow.has_trouble, -flow.trouble_ms * flow.is_game, -sum(flow.packets.values())

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


def counted(of: Iterable[Flow]) -> str:
    """Return how many flows there are of each kind, for example `3 thin TCP, 34 other`."""
    kinds = Counter(flow.kind for flow in of)
    return ", ".join(f"{kinds[kind]:,} {names[kinds[kind] > 1]}" for kind, names in KINDS.items() if kinds[kind])


def left_out(found: Document) -> tuple[int, int]:
    """Return the number of flows that the document does not list, and how many of them are games."""
    parts = [capture["flows_left_out"] for capture in found["captures"]]
    return sum(part["flows"] for part in parts), sum(part["games"] for part in parts)


def waits(capture: Document) -> tuple[str, str] | None:
    """Return whose the longest waits over time are, and from when they count; None if the capture has no game."""
    games = capture["games"]
    tcp, udp = games["tcp"]["connections"], games["udp"]["games"] + games["udp"]["voice_calls"]
    if not tcp + udp:
        return None
    chosen = capture["flows_chosen"]
    whose = "a game" if not chosen else f"flow {chosen[0]}" if len(chosen) == 1 else "a chosen flow"
    beyond = "fastest round trip (UDP: its tick)" if tcp and udp else "fastest round trip" if tcp else "tick"
    return f"wait of {whose}", f"beyond its {beyond}"


def how_sure(blame: Document) -> str:
    """Return how sure the judgement is; nothing if it names no culprit, and says itself what it does not know."""
    is_open = blame["who"] == "unknown" or (blame["who"], blame["sure"]) == ("nobody", "guess")
    return "" if is_open else SURE[blame["sure"]]


def application(seen: Document) -> str:
    """Return the name of a flow's game or application; one that is only possible has a question mark."""
    found = seen["application"]
    return f"{found['name']}?" if found["confidence"] == "possible" else found["name"] or ""


def called(flow: Flow) -> str:
    """Return the surest name that one of the captures gives."""
    order = ("sure", "likely", "possible", "unknown")
    return application(min(flow.seen, key=lambda seen: order.index(seen["application"]["confidence"])))


def what(flow: Flow) -> str:
    """Return protocol and behaviour."""
    seen = flow.seen[0]
    if seen["protocol"] == "udp":
        behaviour = seen["udp"]["behaviour"]
        return "UDP" if behaviour == "other" else f"UDP {behaviour}"
    thin = [direction for direction in ("up", "down") if seen["tcp"][direction]["thin"]]
    return "TCP thin" if len(thin) == 2 else f"TCP thin {thin[0]}" if thin else "TCP"
