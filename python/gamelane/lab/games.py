"""Hands games over TCP to the recorder: what their ends wrote, and the segments that carried it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from gamelane import _native
from gamelane.lab.connections import Numbers, client_port

if TYPE_CHECKING:
    from gamelane.lab.recording import Fate, Seen

SYN, ACK = 0x02, 0x10
COUNTERS = {
    "timeouts": ("TCPTimeouts",),
    "timeout_retransmissions": ("TCPTimeouts", "TCPSlowStartRetrans"),
    "fast_retransmissions": ("TCPFastRetrans", "TCPLossProbes"),
    "fast_recoveries": ("TCPSackRecovery", "TCPRenoRecovery"),
    "tail_probes": ("TCPLossProbes",),
    "spurious_timeouts": ("TCPSpuriousRTOs",),
}
"""Counters of the summary, and those of the kernel that they are the sum of.

The kernel counts the segment that the timer sends under `TCPTimeouts` only. Nearly all tail loss probes repeat a
segment, and the summary counts those as fast retransmissions, too.
"""


def hand_over(recording: _native.Recording, seen: Seen, known: Numbers) -> None:
    """Hand over each connection of every game."""
    for flow, written in seen.observed.written.items():
        segments: dict[int, list[Fate]] = defaultdict(list)
        for fate in seen.fates:
            if fate.flow == flow:
                segments[known[flow][client_port(fate.passage)]].append(fate)
        writes: dict[int, list[tuple[int, bool, int]]] = defaultdict(list)
        for at_ns, number, up, size in written.writes:
            writes[number].append((at_ns - seen.began_ns, up, size))
        for number, own in segments.items():
            _connection(recording, flow, number, writes[number], own)
        counted = {name: sum(written.counters.get(one, 0) for one in of) for name, of in COUNTERS.items()}
        recording.game_server(flow, **counted)


def _connection(
    recording: _native.Recording, flow: int, number: int, writes: list[tuple[int, bool, int]], own: list[Fate]
) -> None:
    first = _first_numbers(own)
    ways = np.array([fate.passage.up for fate in own], dtype=np.bool_)
    sent, arrived = (np.array(times, dtype=np.int64) for times in zip(*map(_times, own), strict=True))
    ranges = zip(*(_ranges(fate, first) for fate in own), strict=True)
    offset, payload, ack = (
        np.array(column, dtype=kind) for column, kind in zip(ranges, (np.uint64, np.uint32, np.uint64), strict=True)
    )
    at = np.array([write[0] for write in writes], dtype=np.int64)
    up = np.array([write[1] for write in writes], dtype=np.bool_)
    size = np.array([write[2] for write in writes], dtype=np.uint32)
    recording.messages(flow, number, at, up, size, sent, arrived, ways, offset, payload, ack)


def _times(fate: Fate) -> tuple[int, int]:
    return fate.sent_ns, -1 if fate.arrived_ns is None else fate.arrived_ns


def _ranges(fate: Fate, first: dict[bool, int]) -> tuple[int, int, int]:
    """Return offset, payload bytes and acknowledgement, counted from the SYN of their direction."""
    up = fate.passage.up
    _, _, flags, acknowledged, payload, sequence = _tcp(fate)
    ack = (acknowledged - first[not up]) & MASK if flags & ACK and (not up) in first else 0
    return (sequence - first[up]) & MASK, payload, ack


def _first_numbers(own: list[Fate]) -> dict[bool, int]:
    """Return the sequence number of the SYN of each direction."""
    return {fate.passage.up: _tcp(fate)[5] for fate in own if _tcp(fate)[2] & SYN}


def _tcp(fate: Fate) -> tuple[int, int, int, int, int, int]:
    """Return the TCP fields of a packet of a game over TCP."""
    return fate.passage.tcp or (0, 0, 0, 0, 0, 0)


MASK = 0xFFFF_FFFF
