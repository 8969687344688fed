"""The records of one direction of a measured line: what its sender sent, and what its receiver got when."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from gamelane.analysis.line import (
    ACKNOWLEDGED,
    CALL,
    DELIVERED,
    RECEIVED,
    SENT,
    UNKNOWN,
    Records,
    Span,
    names,
    within,
)

Floats = npt.NDArray[np.float64]

RAMP_S = 1.0
"""Start of a load that is left out of the rate: TCP fills the queue."""
WINDOW_S = 0.5
UDP_IP_BYTES = 28
PACKET, PAYLOAD, ACK = 1500, 1448, 52
"""IP bytes of a full TCP segment and of an ACK, and the segment's payload: over IPv4 with timestamps."""
FULL = 0.8
"""If the receiver read less than this share of the segments' full size, they were not full. A host that sends to itself
has segments of 64 kB, which it seldom fills. Above, what was not yet read at the end makes the difference."""
SACKED = 20
"""Bytes that SACK blocks add to an ACK: two of the one to three that there may be."""
FEWEST_WINDOWS = 4
"""A rate needs so many windows in which packets waited."""


class Sender:
    """The records of one direction: of its sender and of its receiver."""

    def __init__(self, way: int, sender: Records, receiver: Records) -> None:
        own, arrived = sender[sender["direction"] == way], receiver[receiver["direction"] == way]
        self.phase = ("up", "down")[way]
        self.states = own[own["what"] == DELIVERED]
        self.returned = own[own["what"] == ACKNOWLEDGED]
        self.packet_bytes = int(self.states["payload"][-1]) if len(self.states) else PACKET
        self.ack_bytes = int(self.returned["payload"][-1]) if len(self.returned) else ACK
        self.sent = own[(own["what"] == SENT) & (own["flow"] <= CALL)]
        received = arrived[arrived["what"] == RECEIVED]
        self.arrived = received[received["flow"] <= CALL]
        self.reads = received[received["flow"] > CALL]
        self.stamped = self.arrived[self.arrived["value"] != UNKNOWN]

    def segments(self, times: Floats, span: Span) -> tuple[Floats, Floats]:
        """Return how many packets of the load, and how many of their IP bytes, had arrived at these times in s.

        The sender counts them. Without its count, they follow from the bytes that the receiver read.
        """
        states = within(self.states, span)
        if not len(states):
            payload = _so_far(times, within(self.reads, span))
            return payload / PAYLOAD, payload / PAYLOAD * PACKET
        packets, sizes = np.zeros_like(times), np.zeros_like(times)
        for stream in np.unique(states["number"]):
            own = states[states["number"] == stream]
            count = np.interp(times, own["at"] / 1e9, own["value"].astype(np.float64))
            packets += count
            sizes += count * float(own["payload"][-1])
        read = _so_far(times, within(self.reads, span)) + ACK * packets
        return packets, read if read[-1] < FULL * sizes[-1] else sizes

    def acks(self, times: Floats, span: Span) -> tuple[Floats, Floats]:
        """Return how many ACKs, and how many of their IP bytes, had come back at these times in s."""
        packets, sacks = np.zeros_like(times), np.zeros_like(times)
        returned = within(self.returned, span)
        for stream in np.unique(returned["number"]):
            own = returned[returned["number"] == stream]
            packets += np.interp(times, own["at"] / 1e9, own["value"].astype(np.float64))
            sacks += np.interp(times, own["at"] / 1e9, own["beside"].astype(np.float64))
        return packets, self.ack_bytes * packets + SACKED * sacks

    def read(self, times: Floats, span: Span) -> tuple[Floats, Floats]:
        """Return how many full segments the receiver had read at these times in s, and their IP bytes."""
        count = _so_far(times, within(self.reads, span)) / max(self.packet_bytes - self.ack_bytes, 1)
        return count, self.packet_bytes * count

    def probes(self, times: Floats, span: Span) -> tuple[Floats, Floats]:
        """Return how many probes, and how many of their IP bytes, had arrived at these times in s."""
        arrived = within(self.arrived, span)
        count = np.searchsorted(np.sort(arrived["at"]) / 1e9, times).astype(np.float64)
        return count, _so_far(times, arrived) + UDP_IP_BYTES * count

    def lost(self, span: Span) -> tuple[int, int]:
        """Return how many probes of a time were lost, and how many were sent."""
        sent = within(self.sent, span)
        return int((~np.isin(names(sent), names(self.arrived))).sum()), len(sent)

    def before_losses_ms(self, base_ms: float, span: Span) -> Floats:
        """Return by how much the probe was late that was sent just before each lost one of a time, if it arrived."""
        sent = names(np.sort(within(self.sent, span), order="at"))
        late = dict(zip(names(self.stamped).tolist(), self.stamped["value"] / 1e6 - base_ms, strict=True))
        arrived = set(names(self.arrived).tolist())
        pairs = itertools.pairwise(sent.tolist())
        return np.array([late[first] for first, second in pairs if second not in arrived and first in late])

    def lost_of_load(self, span: Span) -> int:
        """Return how many packets of the load were lost in a time: how many the sender sent again."""
        states = within(self.states, span)
        # A stream of an earlier phase may still deliver what waited. Its count began before this time.
        counts = (states["beside"][states["number"] == stream] for stream in np.unique(states["number"]))
        return sum(int(each.max()) - int(each.min()) for each in counts)

    def dropped(self, span: Span) -> bool:
        """Return whether packets of the load or of the probes were lost."""
        return self.lost(span)[0] > 0 or self.lost_of_load(span) > 0

    def added_ms(self, base_ms: float, span: Span) -> Floats:
        """Return by how much each probe of a time was later than `base_ms`, in order of arrival."""
        found: Floats = np.sort(within(self.stamped, span), order="at")["value"] / 1e6 - base_ms
        return found

    def queued_ms(self, base_ms: float, span: Span) -> Floats:
        """Return by how much each probe that was sent in a time was later than `base_ms`, in order of arrival.

        A probe that meets a full buffer at the end of a load arrives when the load is over.
        """
        sent = names(within(self.sent, span))
        ordered = np.sort(self.stamped, order="at")
        found: Floats = ordered["value"][np.isin(names(ordered), sent)] / 1e6 - base_ms
        return found


def _so_far(times: Floats, records: Records) -> Floats:
    """Return the payload that had arrived at these times in s."""
    ordered = np.sort(records, order="at")
    sums = np.concatenate(([0.0], np.cumsum(ordered["payload"].astype(np.float64))))
    found: Floats = sums[np.searchsorted(ordered["at"] / 1e9, times)]
    return found


def windows_of(times: Floats, bytes_: Floats, at: Floats, added_ms: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the rate of each window after the ramp, and whether packets waited all the time."""
    rates = 8 * np.diff(bytes_) / np.diff(times)
    late = times[:-1] >= times[0] + min(RAMP_S, (times[-1] - times[0]) / 4)
    rates, starts = rates[late], times[:-1][late]
    packet_ms = 8e3 * PACKET / max(float(np.median(rates)), 1.0)
    waits = added_ms > max(packet_ms / 2, 0.1)
    busy = []
    for start in starts:
        inside = waits[(at >= start) & (at < start + WINDOW_S)]
        busy.append(bool(len(inside) and inside.mean() > 0.95))
    return rates, np.array(busy, bool)
