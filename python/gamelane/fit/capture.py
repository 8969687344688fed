"""Finds a game in a capture by its traffic: steady small updates in one direction, steady small commands in the other.

The input is times, sizes and numbered endpoints. Addresses and payload never reach Python. The criteria are in
docs/models/traffic-fit.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gamelane import _native
from gamelane.errors import UsageError

Floats = npt.NDArray[np.float64]

MOST_PLAYERS = 1000
"""Largest number of players in a model file."""

SHORTEST_S = 10.0
SLOWEST_PER_S, FASTEST_PER_S = 4.0, 250.0
LARGEST_MEDIAN_B = 1000.0
AT_THE_TICK = 0.5
"""Criteria of a game: minimum duration, minimum packets per second in each direction, maximum median payload, and the
minimum share of the server's gaps within a quarter of their median.
"""


@dataclass(frozen=True)
class Stream:
    """One direction of a client's conversation: seconds since its first packet, and UDP payload sizes in bytes."""

    t_s: Floats
    payload: Floats

    @property
    def gaps_ms(self) -> Floats:
        """Return the times between packets, in ms."""
        return np.diff(self.t_s) * 1e3


@dataclass(frozen=True)
class Client:
    """Updates that one client received, and commands that it sent."""

    updates: Stream
    commands: Stream


@dataclass(frozen=True)
class Recording:
    """One match with every client in the capture. `damage` says why reading stopped early."""

    clients: tuple[Client, ...]
    seconds: float
    damage: str | None


def read(path: Path) -> Recording:
    """Find the game in a capture."""
    try:
        columns = _native.udp_datagrams(str(path))
    except ValueError as error:
        message, _, hint = str(error).partition("\nhint: ")
        raise UsageError(message + (f"\n  hint:    {hint}" if hint else "")) from None
    if not len(columns["t_ns"]):
        raise UsageError(
            f"{path}: no UDP packet among {columns['packets_read']} packets\n"
            "  hint:    only games over UDP, such as shooters, can be fitted"
        )
    conversations = _conversations(columns)
    fitting = [each for each in conversations if each.refusal() is None]
    if not fitting:
        largest = max(conversations, key=lambda each: len(each.low.t_s) + len(each.high.t_s))
        many = f"{len(conversations)} UDP conversation{'s' * (len(conversations) > 1)}"
        raise UsageError(
            f"{path}: no game found in {many}: the largest "
            f"{largest.refusal()}\n  hint:    capture a running match, in which server and client send small "
            f"packets at a steady rate for {SHORTEST_S:.0f} s or more"
        )
    clients = _clients(fitting)
    seconds = max(max(each.updates.t_s[-1], each.commands.t_s[-1]) for each in clients)
    return Recording(clients, float(seconds), columns["damage"])


@dataclass(frozen=True)
class _Conversation:
    """Two endpoints on one interface. `low` holds what the endpoint with the lower number sent."""

    interface: int
    ends: tuple[int, int]
    low: Stream
    high: Stream

    def refusal(self) -> str | None:
        """Return why this is not a game, or None if it may be one."""
        sides = (self.low, self.high)
        if any(len(side.t_s) < 2 for side in sides):
            return f"has {len(self.low.t_s)} packets in one direction and {len(self.high.t_s)} in the other"
        seconds = max(side.t_s[-1] for side in sides) - min(side.t_s[0] for side in sides)
        if seconds < SHORTEST_S:
            return f"lasts {seconds:.1f} s"
        rates = [len(side.t_s) / seconds for side in sides]
        if not all(SLOWEST_PER_S <= rate <= FASTEST_PER_S for rate in rates):
            return f"sends {min(rates):.1f} packets/s in one direction and {max(rates):.1f} in the other"
        if any(np.median(side.payload) > LARGEST_MEDIAN_B for side in sides):
            return "sends full packets, like a transfer or a video"
        server = self.server()
        if np.ptp(server.payload) == 0:
            return "sends packets of one size, like a voice call"
        gaps = server.gaps_ms
        steady = np.mean(np.abs(gaps - np.median(gaps)) <= np.median(gaps) / 4)
        return None if steady >= AT_THE_TICK else f"has no tick: only {steady:.0%} of its gaps are near their median"

    def server(self) -> Stream:
        """Return the direction with the larger packets. A server reports on all players, a client only on itself."""
        return self.low if self.low.payload.mean() > self.high.payload.mean() else self.high


def _conversations(columns: _native.Datagrams) -> list[_Conversation]:
    low = np.minimum(columns["sender"], columns["receiver"])
    high = np.maximum(columns["sender"], columns["receiver"])
    keys = np.stack([columns["interface"], low, high], axis=1)
    names, member = np.unique(keys, axis=0, return_inverse=True)
    order = np.lexsort((columns["t_ns"], member.reshape(-1)))
    bounds = np.searchsorted(member.reshape(-1)[order], np.arange(len(names) + 1))
    found = []
    for (interface, a, b), (start, stop) in zip(names.tolist(), pairwise(bounds.tolist()), strict=True):
        rows = order[start:stop]
        t_ns = columns["t_ns"][rows]
        t_s = (t_ns - t_ns[0]).astype(np.float64) / 1e9
        payload = columns["payload"][rows].astype(np.float64)
        from_low = columns["sender"][rows] == a
        streams = [Stream(t_s[side], payload[side]) for side in (from_low, ~from_low)]
        found.append(_Conversation(interface, (a, b), *streams))
    return found


def _clients(fitting: list[_Conversation]) -> tuple[Client, ...]:
    """Return the clients of the busiest server, on the interface that saw most of its packets."""
    served = Counter((each.interface, end) for each in fitting for end in each.ends)
    (interface, hub), talks = max(served.items(), key=lambda item: (item[1], -item[0][0], -item[0][1]))
    if talks == 1:
        only = max(fitting, key=lambda each: len(each.low.t_s) + len(each.high.t_s))
        server = only.server()
        return (Client(server, only.high if server is only.low else only.low),)
    talking = [each for each in fitting if each.interface == interface and hub in each.ends]
    return tuple(
        Client(each.low, each.high) if each.ends[0] == hub else Client(each.high, each.low) for each in talking
    )
