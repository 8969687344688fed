"""The link behind a measured line: its rates, base round trip, buffers and losses, each with a range (docs/advise.md).

The rate of a direction is what its load delivered while packets waited. The buffer is what the longest wait holds at
that rate, in any phase that loads the direction. Nothing here knows what the link is made of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from gamelane.analysis.framing import framing
from gamelane.analysis.line import DOWN, GAME, ROUND_TRIP, UP, Records, Span, within
from gamelane.analysis.sender import (
    ACK,
    FEWEST_WINDOWS,
    PACKET,
    WINDOW_S,
    Floats,
    Sender,
    windows_of,
)
from gamelane.analysis.stats import Z95, t_quantile

SEGMENTS_PER_ACK = 2
ALIKE = 0.7
"""If ACKs make the mean packet no smaller than this share, bytes and packets cannot be told apart."""
SHORTER = 0.9
"""A wait is shorter if it is below this share of the longest."""
FEWEST_LOSSES = 8
WANDERS = 0.25
"""A rate wanders if the 10th and 90th percentile of its windows are further apart than this share of the median."""
SMOOTHED_OVER = 5
"""Delays are medians of so many packets in a row, because a busy host delays single packets."""
NOTICED_MS = 5.0
"""A load that adds less delay than this, and less than eight packets take, shows no buffer."""


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
    found = None if up.wanders or down.wanders else framing(senders, times)
    bytes_ = None if found is None else Range(*(max(found[0] + each * found[1], 0.0) for each in (0, -1, 1)))
    return Link(Range(middle, low, high), up, down, bytes_)


def _lane(of: Sender, other: Sender, times: Mapping[str, Span]) -> Lane | None:
    idle, load = times["idle"], times[of.phase]
    empty = of.added_ms(0.0, idle)
    grid = np.arange(*load, int(WINDOW_S * 1e9)) / 1e9
    bytes_ = of.segments(grid, load)[1] + of.probes(grid, load)[1]
    if not len(empty) or len(grid) < 2 or bytes_[-1] <= 0:
        return None
    base = float(np.median(empty))
    added = of.added_ms(base, load)
    windows, busy = windows_of(grid, bytes_, np.sort(within(of.stamped, load)["at"]) / 1e9, added)
    rate, seen = _rate(windows, busy)
    loads = [load, *(span for name, span in times.items() if name == "both")]
    found = [_buffer(of.queued_ms(base, span), rate.value, dropped=of.dropped(span)) for span in loads]
    buffer = _largest([each for each in found if each is not None])
    filled: Filled = "no queue" if buffer is None else "not filled" if buffer.high is None else "dropped"
    packet = _mean_packet(of, load)
    own = found[0]
    counts_packets = own is not None and own.high is not None and _counts_packets(own, base, of, other, times)
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


def _largest(found: Sequence[Range]) -> Range | None:
    """Return the buffer of the phase with the longest wait: of a phase that lost packets, if its wait is about as long.

    Packets that were lost at a shorter wait do not show that the longest one filled the buffer.
    """
    longest = max((each.value for each in found), default=0.0)
    alike = [each for each in found if each.value >= SHORTER * longest]
    return max(alike, key=lambda each: (each.high is not None, each.value), default=None)


def _counts_packets(buffer: Range, base_ms: float, of: Sender, other: Sender, times: Mapping[str, Span]) -> bool:
    """Return whether the buffer is shown to count packets, not bytes.

    While both directions are loaded, ACKs share the queue with data. A buffer of packets is then full, and drops
    packets, at a shorter wait: by the share of the mean packets. One of bytes drops at the same wait.

    Lost probes show the wait at which packets were dropped. If too few probes were lost, the longest wait shows it: a
    buffer of bytes that dropped packets was full. One of packets then was, too, so it held as many packets as before.
    """
    both = times.get("both")
    if both is None or of.lost(times["idle"])[0]:
        return False
    end = np.array([both[1]]) / 1e9
    acks = float(other.segments(end, both)[0][0]) / SEGMENTS_PER_ACK
    share = _mean_packet(of, both, acks) / _mean_packet(of, times[of.phase])
    if share >= ALIKE:
        return False
    full = of.before_losses_ms(base_ms, both)
    if len(full) >= FEWEST_LOSSES:
        return float(np.median(full)) < SHORTER * buffer.value
    longest = float(of.queued_ms(base_ms, both).max(initial=0.0))
    return of.lost_of_load(both) >= FEWEST_LOSSES and SHORTER * share < longest / buffer.value < SHORTER


def _mean_packet(of: Sender, span: Span, acks: float = 0.0) -> float:
    """Return the mean IP bytes of the packets that arrived in a time, with so many ACKs among them."""
    end = np.array([span[1]]) / 1e9
    (packets, bytes_), (probes, probed) = of.segments(end, span), of.probes(end, span)
    count = float(packets[0] + probes[0]) + acks
    return (float(bytes_[0] + probed[0]) + acks * ACK) / count if count else PACKET


def _rate(windows: Floats, busy: npt.NDArray[np.bool_]) -> tuple[Range, bool]:
    """Return the mean rate with its 95 % interval. Without a standing queue, the link may be faster than its load."""
    seen = int(busy.sum()) >= FEWEST_WINDOWS
    of = windows[busy] if seen else windows
    mean = float(of.mean())
    half = t_quantile(len(of) - 1) * float(of.std(ddof=1)) / math.sqrt(len(of)) if len(of) > 1 else mean
    return Range(mean, max(mean - half, 0.0), mean + half if seen else None), seen


def _buffer(added_ms: Floats, rate_bps: float, *, dropped: bool) -> Range | None:
    smooth = _smooth(added_ms)
    if not len(smooth):
        return None
    longest = float(smooth.max())
    packet_ms = 8e3 * PACKET / rate_bps
    if longest < max(NOTICED_MS, 8 * packet_ms):
        return None
    high = max(float(added_ms.max()), longest) + packet_ms if dropped else None
    return Range(longest, float(np.percentile(smooth, 95)), high)


def _smooth(added_ms: Floats) -> Floats:
    """Return the median of each delay and its neighbours."""
    if len(added_ms) < SMOOTHED_OVER:
        return added_ms[:0]
    found: Floats = np.median(np.lib.stride_tricks.sliding_window_view(added_ms, SMOOTHED_OVER), axis=1)
    return found


def _wilson(lost: int, sent: int) -> Range:
    """Return a share with Wilson's 95 % interval."""
    if not sent:
        return Range(0.0, 0.0, 1.0)
    share, z = lost / sent, Z95**2 / sent
    middle = (share + z / 2) / (1 + z)
    half = Z95 * math.sqrt(share * (1 - share) / sent + z / sent / 4) / (1 + z)
    return Range(share, max(middle - half, 0.0) if lost else 0.0, middle + half)
