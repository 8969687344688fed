"""The facts about each game of analyzed captures, from which the page takes its numbers.

The rules are those of the verdict (`crates/capture/src/facts.rs`); a test compares them.

With two captures, losses and the lag until delivery are those of the comparison. If it could not count the losses, they
are those of the updates' own numbers, on the way to the capture nearer to the receiver. Retransmissions and stalls are
those of the capture nearer to the sender, late updates and gaps those of the capture nearer to the receiver.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Document = Mapping[str, Any]

DIRECTIONS = ("down", "up")
TO = {"down": "player", "up": "server"}
OTHER = "other"
THIN_TCP = "thin-tcp"
TIMED = ("timeout", "tail-loss-probe", "timeout-or-probe")
"""Causes of a retransmission for which the sender waited for a timer."""
CAUSE_WORDS = {
    "timeout": "timeouts",
    "fast": "fast retransmission",
    "tail-loss-probe": "tail loss probes",
    "timeout-or-probe": "timeouts or probes",
    "unexplained": "no visible reason",
}
LENGTHS = {
    "below 1": "less than a timeout",
    "1": "about one timeout",
    "2": "two timeouts",
    "3": "three timeouts",
    "4 to 6": "four to six timeouts",
    "7 and more": "seven or more timeouts",
}
"""Length of a stall in retransmission timeouts: 1, 3, 7 with exponential back-off, below 1 after a tail loss probe."""


class Way:
    """One direction of a game."""

    def __init__(self, direction: str, near_sender: tuple[int, Document], receiver: Document, pair: Document | None):
        self.direction = direction
        self.to = TO[direction]
        self.capture, sender = near_sender
        self.flow: int = sender["id"]
        """Position of the capture nearer to the sender, and number of the flow there: the place of its rows."""
        self.half: Document | None = sender["tcp"][direction] if "tcp" in sender else None
        self.updates: Document | None = receiver["udp"][direction] if "udp" in receiver else None
        self.pair = pair
        self.delivery: Document | None = pair["delivery"] if pair else None

    @property
    def lost(self) -> tuple[int, int] | None:
        """Lost packets and all that were sent, if they were counted: at two points, or by the updates' own numbers."""
        if self.pair and self.pair["lost"] is not None:
            return self.pair["lost"], self.pair["sent"]
        numbered = self.updates and self.updates["numbered"]
        return (numbered["missing"], numbered["arrived"] + numbered["missing"]) if numbered else None

    @property
    def loss_estimate(self) -> float | None:
        """Share of the data packets of TCP lost, as one capture can tell, if they were not counted."""
        return self.half["loss_estimate"] if self.half and self.lost is None else None

    @property
    def lag_ms(self) -> dict[str, float]:
        """Lag by cause: until delivery with two captures, else until the acknowledgement."""
        return lag_by_cause(self.half, self.delivery) if self.half else {}

    @property
    def is_steady(self) -> bool:
        """Whether it is a direction of UDP with a steady pace. Without one, late updates and gaps mean nothing."""
        return bool(self.updates and self.updates["steady"])


class Game:
    """A game or a call. `capture` and `flow` are its place in the first capture that has it."""

    def __init__(self, kind: str, place: tuple[int, int], flow: Document, ways: dict[str, Way], pair: Document | None):
        self.kind = kind
        self.capture, self.flow = place
        self.client: str = flow["client"]
        self.server: str = flow["server"]
        self.ways = ways
        self.pair = pair
        self.trouble: Document = (pair or flow)["trouble"]
        trip = pair["rtt_ms"] if pair else flow["tcp"]["rtt_ms"] if "tcp" in flow else {"p50": None}
        self.rtt_ms: float | None = trip["p50"]

    def behind_ms(self, *directions: str) -> float:
        """Time by which these directions were behind, to find the games that suffered most."""
        return sum(float(self.trouble[f"{direction}_behind_ms"]) for direction in directions)


def lag_by_cause(half: Document, delivery: Document | None) -> dict[str, float]:
    """Return the lag of TCP data in milliseconds by cause of the retransmission that ended it."""
    return {
        cause: each["lag_ms"] for cause, each in (delivery["late"] if delivery else half["retransmissions"]).items()
    }
