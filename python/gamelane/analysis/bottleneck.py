"""The link behind a measured line: its rates, base round trip, buffers and losses, each with a range (docs/advise.md).

The rate of a direction is what its load delivered while packets waited. The buffer is what the longest wait holds at
that rate, in any phase that loads the direction. Nothing here knows what the link is made of.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from gamelane.analysis.line import (
    ACKNOWLEDGED,
    CALL,
    DELIVERED,
    DOWN,
    GAME,
    RECEIVED,
    ROUND_TRIP,
    SENT,
    UNKNOWN,
    UP,
    Records,
    Span,
    names,
    within,
)
from gamelane.analysis.stats import t_quantile

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
SEGMENTS_PER_ACK = 2
SACKED = 20
"""Bytes that SACK blocks add to an ACK: two of the one to three that there may be."""
MOST_FRAMING = 128
"""Bytes. If packets seem to take more than this, both directions share the medium, or something else limits them."""
VAGUE_FRAMING = 30
"""Bytes. An estimate that may be so far off says nothing."""
UNSEEN = 1e-3
"""Share of a rate that may be wrong, however little its windows differ."""
ALIKE = 0.7
"""If ACKs make the mean packet no smaller than this share, bytes and packets cannot be told apart."""
SHORTER = 0.9
"""A wait is shorter if it is below this share of the longest."""
FEWEST_LOSSES = 8
WANDERS = 0.25
"""A rate wanders if the 10th and 90th percentile of its windows are further apart than this share of the median."""
FEWEST_WINDOWS = 4
SMOOTHED_OVER = 5
"""Delays are medians of so many packets in a row, because a busy host delays single packets."""
NOTICED_MS = 5.0
"""A load that adds less delay than this, and less than eight packets take, shows no buffer."""
Z95 = 1.959964


@dataclass(frozen=True)
class Range:
    """A value with what it may be. `high` is None if only a lower bound is known."""

    value: float
    low: float
    high: float | None


Filled = Literal["dropped", "not filled", "no queue"]


@dataclass(frozen=True)
class Lane:
    """One direction of the link."""

    rate_bps: Range
    """Rate of full-size IP packets: the mean over the load."""
    windows_bps: Sequence[float]
    """The rate in each half second of the load in which packets waited."""
    buffer_ms: Range | None
    """Time to empty the full buffer; None if the load made no queue that probes share."""
    buffer_packets: float | None
    """Packets that the buffer holds, if it counts packets; None if it counts bytes."""
    filled: Filled
    """`dropped`: the buffer was full and dropped packets. `not filled`: nothing was lost, so it may be larger."""
    loss: Range
    """Share of the probes that were lost on the idle line."""
    jitter_ms: float
    """From the least to the 95th percentile of the delays on the idle line."""
    packet_bytes: float = PACKET
    """Mean IP bytes of the packets that had this rate."""

    @property
    def buffer_bytes(self) -> Range | None:
        """What the buffer holds, in IP bytes."""
        if self.buffer_ms is None:
            return None
        factor, high = self.rate_bps.value / 8e3, self.buffer_ms.high
        return Range(
            self.buffer_ms.value * factor, self.buffer_ms.low * factor, None if high is None else high * factor
        )

    @property
    def wanders(self) -> bool:
        """Whether the rate varies more than that of a link with a fixed rate."""
        if len(self.windows_bps) < FEWEST_WINDOWS:
            return False
        low, middle, high = np.percentile(self.windows_bps, (10, 50, 90))
        return bool(high - low > WANDERS * middle)


@dataclass(frozen=True)
class Link:
    """Both directions, and the round trip of an empty line."""

    rtt_ms: Range
    up: Lane
    down: Lane
    framing_bytes: Range | None = None
    """What each packet takes in addition to its IP bytes; None if the measurement does not show it."""


def link(client: Records, server: Records, spans: Sequence[tuple[str, float, float]]) -> Link | None:
    """Estimate the link; None if a phase is missing or a load moved nothing. Arguments are those of `line.phases`."""
    first = int(client["at"].min()) if len(client) else 0
    times = {name: (first + int(start * 1e9), first + int(end * 1e9)) for name, start, end in spans}
    if not {"idle", "up", "down"} <= times.keys():
        return None
    trips = client[(client["what"] == ROUND_TRIP) & (client["flow"] == GAME)]
    idle = within(trips, times["idle"])["value"] / 1e6
    senders = {UP: Sender(UP, client, server), DOWN: Sender(DOWN, server, client)}
    up, down = (_lane(senders[way], senders[1 - way], times) for way in (UP, DOWN))
    if not len(idle) or up is None or down is None:
        return None
    low, middle, high = (float(each) for each in np.percentile(idle, (5, 50, 95)))
    framing = None if up.wanders or down.wanders else _framing(senders, times)
    return Link(Range(middle, low, high), up, down, framing)


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
        count = _so_far(times, within(self.reads, span)) / (self.packet_bytes - self.ack_bytes)
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

    def dropped(self, span: Span) -> bool:
        """Return whether packets of the load or of the probes were lost."""
        states = within(self.states, span)
        return self.lost(span)[0] > 0 or bool(len(states) and states["beside"].max() > 0)

    def added_ms(self, base_ms: float, span: Span) -> Floats:
        """Return by how much each probe of a time was later than `base_ms`, in order of arrival."""
        found: Floats = np.sort(within(self.stamped, span), order="at")["value"] / 1e6 - base_ms
        return found


def _lane(of: Sender, other: Sender, times: Mapping[str, Span]) -> Lane | None:
    idle, load = times["idle"], times[of.phase]
    empty = of.added_ms(0.0, idle)
    grid = np.arange(*load, int(WINDOW_S * 1e9)) / 1e9
    bytes_ = of.segments(grid, load)[1] + of.probes(grid, load)[1]
    if not len(empty) or len(grid) < 2 or bytes_[-1] <= 0:
        return None
    base = float(np.median(empty))
    added = of.added_ms(base, load)
    windows, busy = _windows(grid, bytes_, np.sort(within(of.stamped, load)["at"]) / 1e9, added)
    rate, seen = _rate(windows, busy)
    loads = [load, *(span for name, span in times.items() if name == "both")]
    dropped = any(of.dropped(span) for span in loads)
    found = [_buffer(of.added_ms(base, span), rate.value, dropped=dropped) for span in loads]
    buffer = max((each for each in found if each is not None), key=lambda each: each.value, default=None)
    filled: Filled = "no queue" if buffer is None else "dropped" if dropped else "not filled"
    packet = _mean_packet(of, load)
    counts_packets = found[0] is not None and _counts_packets(found[0], base, of, other, times)
    return Lane(
        rate,
        tuple(windows[busy] if seen else windows),
        buffer,
        buffer.value * rate.value / 8e3 / packet if buffer and counts_packets else None,
        filled,
        _wilson(*of.lost(idle)),
        max(float(np.percentile(empty, 95) - empty.min()), 0.0),
        packet,
    )


def _framing(senders: Mapping[int, Sender], times: Mapping[str, Span]) -> Range | None:
    """Estimate what each packet takes in addition to its IP bytes.

    While both directions are loaded, ACKs share a direction with data. So it carries more packets, and fewer bytes:
    those that the additional packets took. Both directions are supposed to have the same framing.
    """
    both = times.get("both")
    if both is None:
        return None
    found = []
    for way in (UP, DOWN):
        of, other = senders[way], senders[1 - way]
        found.append(_per_packet(_carried(of, other, times[of.phase]), _carried(of, other, both)))
    # The direction with more ACKs for its data shows it best.
    _, value, half = max(found)
    if half > VAGUE_FRAMING or value > MOST_FRAMING:
        return None
    return Range(max(value, 0.0), max(value - half, 0.0), max(value + half, 0.0))


def _per_packet(alone: Floats, shared: Floats) -> tuple[float, float, float]:
    """Return the share of ACKs, the bytes that each packet takes in addition, and how far off they may be."""
    nothing = 0.0, 0.0, math.inf
    if len(alone) < FEWEST_WINDOWS:
        return nothing
    packets, bytes_ = np.median(alone, axis=0)
    shared = shared[shared[:, 0] > packets]
    if len(shared) < FEWEST_WINDOWS:
        return nothing
    each = (bytes_ - shared[:, 1]) / (shared[:, 0] - packets)
    more = float(np.median(shared[:, 0])) - packets
    half = Z95 * math.hypot(_error(each), _error(alone[:, 1]) / more) + UNSEEN * bytes_ / more
    return float(more / packets), float(np.median(each)), float(half)


def _carried(of: Sender, other: Sender, span: Span) -> Floats:
    """Return packets and IP bytes per second in each window in which packets waited, ACKs included.

    What was read counts. The sender learns of it later, by ACKs that wait in the other direction's queue. Repairs of a
    loss hold reads up, so some windows are wrong.
    """
    grid = np.arange(*span, int(WINDOW_S * 1e9)) / 1e9
    stamped = np.sort(within(of.stamped, span), order="at")
    if len(grid) < 2 or not len(stamped):
        return np.empty((0, 2))
    packets, bytes_ = np.sum((of.read(grid, span), of.probes(grid, span), other.acks(grid, span)), axis=0)
    added = stamped["value"] / 1e6 - float(np.min(of.stamped["value"])) / 1e6
    rates, busy = _windows(grid, bytes_, stamped["at"] / 1e9, added)
    counts = (np.diff(packets) / np.diff(grid))[-len(busy) :]
    found: Floats = np.column_stack((counts, rates / 8))[busy]
    return found


def _error(of: Floats) -> float:
    """Return the standard error of a median, from the median absolute deviation."""
    return 1.2533 * 1.4826 * float(np.median(np.abs(of - np.median(of)))) / math.sqrt(len(of))


def _counts_packets(buffer: Range, base_ms: float, of: Sender, other: Sender, times: Mapping[str, Span]) -> bool:
    """Return whether the buffer is shown to count packets, not bytes.

    While both directions are loaded, ACKs share the queue with data. A buffer of packets is then full, and drops
    probes, at a shorter wait. One of bytes drops at the same wait, and hardly any probes, for they are small.
    """
    both = times.get("both")
    if both is None or of.lost(times["idle"])[0]:
        return False
    end = np.array([both[1]]) / 1e9
    acks = float(other.segments(end, both)[0][0]) / SEGMENTS_PER_ACK
    full = of.before_losses_ms(base_ms, both)
    differs = _mean_packet(of, both, acks) < ALIKE * _mean_packet(of, times[of.phase])
    return differs and len(full) >= FEWEST_LOSSES and float(np.median(full)) < SHORTER * buffer.value


def _mean_packet(of: Sender, span: Span, acks: float = 0.0) -> float:
    """Return the mean IP bytes of the packets that arrived in a time, with so many ACKs among them."""
    end = np.array([span[1]]) / 1e9
    (packets, bytes_), (probes, probed) = of.segments(end, span), of.probes(end, span)
    count = float(packets[0] + probes[0]) + acks
    return (float(bytes_[0] + probed[0]) + acks * ACK) / count if count else PACKET


def _so_far(times: Floats, records: Records) -> Floats:
    """Return the payload that had arrived at these times in s."""
    ordered = np.sort(records, order="at")
    sums = np.concatenate(([0.0], np.cumsum(ordered["payload"].astype(np.float64))))
    found: Floats = sums[np.searchsorted(ordered["at"] / 1e9, times)]
    return found


def _windows(times: Floats, bytes_: Floats, at: Floats, added_ms: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
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


def _rate(windows: Floats, busy: npt.NDArray[np.bool_]) -> tuple[Range, bool]:
    """Return the mean rate with its 95 % interval. Without a standing queue, the link may be faster than its load."""
    seen = int(busy.sum()) >= FEWEST_WINDOWS
    of = windows[busy] if seen else windows
    mean = float(of.mean())
    half = t_quantile(len(of) - 1) * float(of.std(ddof=1)) / math.sqrt(len(of)) if len(of) > 1 else mean
    return Range(mean, max(mean - half, 0.0), mean + half if seen else None), seen


def _buffer(added_ms: Floats, rate_bps: float, *, dropped: bool) -> Range | None:
    if len(added_ms) < SMOOTHED_OVER:
        return None
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(added_ms, SMOOTHED_OVER), axis=1)
    longest = float(smooth.max())
    packet_ms = 8e3 * PACKET / rate_bps
    if longest < max(NOTICED_MS, 8 * packet_ms):
        return None
    high = max(float(added_ms.max()), longest) + packet_ms if dropped else None
    return Range(longest, float(np.percentile(smooth, 95)), high)


def _wilson(lost: int, sent: int) -> Range:
    """Return a share with Wilson's 95 % interval."""
    if not sent:
        return Range(0.0, 0.0, 1.0)
    share, z = lost / sent, Z95**2 / sent
    middle = (share + z / 2) / (1 + z)
    half = Z95 * math.sqrt(share * (1 - share) / sent + z / sent / 4) / (1 + z)
    return Range(share, max(middle - half, 0.0) if lost else 0.0, middle + half)
