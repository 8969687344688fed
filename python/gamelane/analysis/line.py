"""Figures of a measured line, from the records of both ends (`gamelane measure`, docs/traffic.md describes the files).

A grade rates the line while it is loaded, which is when games lag.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gamelane.analysis import g1072, quality

RECORD = np.dtype(
    [
        ("what", "u1"), ("direction", "u1"), ("flow", "<u2"), ("payload", "<u4"), ("session", "<u8"),
        ("number", "<u4"), ("beside", "<u4"), ("at", "<u8"), ("value", "<u8"),
    ]
)  # fmt: skip
"""A record in a file of `gamelane-traffic`."""

SENT, RECEIVED, ROUND_TRIP, DELIVERED, ACKNOWLEDGED = 0, 1, 3, 5, 6
UP, DOWN = 0, 1
GAME, CALL = 0, 1
PHASES = ("idle", "up", "down", "both")
LOADED = PHASES[1:]
UNKNOWN = np.uint64(2**64 - 1)

Records = npt.NDArray[np.void]
Span = tuple[int, int]
"""Start and end in ns."""


@dataclass(frozen=True)
class Way:
    """One direction in a phase. A figure is None if nothing is known of it."""

    sent: int | None
    lost: int | None
    reordered: int
    """Packets that arrived after one that was sent later."""
    one_way_ms: Mapping[str, float] | None
    """Median, 95th and 99th percentile of the one-way delay."""
    mbps: float | None
    """Payload of the load that arrived, in Mbit/s; None if the phase does not load this direction."""

    @property
    def loss_percent(self) -> float | None:
        """Lost share of the packets sent."""
        return 100 * self.lost / self.sent if self.sent and self.lost is not None else None


OMITTED_S, OMITTED_SHARE = 2.0, 0.3
"""The start of a load that the figures leave out, and at most this share of the load: TCP's slow start (as `iperf3
--omit`). It lasts as long in a short measurement as in a long one, so percentiles with it would depend on the length.
"""


@dataclass(frozen=True)
class Phase:
    """A phase: its time from the first packet, round trips, and both directions.

    The figures of a phase with a load begin `omitted_s` after it.
    """

    name: str
    from_s: float
    to_s: float
    omitted_s: float
    start_ms: float | None
    """Longest round trip in the time that is left out: what a new download does for a moment."""
    rtt_ms: Mapping[str, float] | None
    """Of the game's round trips: mean, median, 95th and 99th percentile, and jitter (95th percentile of the steps)."""
    up: Way
    down: Way

    @property
    def loss_percent(self) -> float | None:
        """Share of packets lost on the way there or back."""
        up, down = self.up.loss_percent, self.down.loss_percent
        return None if up is None or down is None else 100 - (100 - up) * (100 - down) / 100


def phases(client: Records, server: Records | None, spans: Sequence[tuple[str, float, float]]) -> list[Phase]:
    """Return the figures of each phase. `spans` has name, start and end in seconds after the client's first record.

    `server` must have times of the client's clock; None if they are not known.
    """
    first = int(client["at"].min()) if len(client) else 0
    found = []
    for name, start, end in spans:
        span = (first + int(start * 1e9), first + int(end * 1e9))
        loads = {"up": (UP,), "down": (DOWN,), "both": (UP, DOWN)}.get(name, ())
        omitted = min(OMITTED_S, OMITTED_SHARE * (end - start)) if loads else 0.0
        begins, span = span[0], (span[0] + int(omitted * 1e9), span[1])
        rounds = client[(client["what"] == ROUND_TRIP) & (client["flow"] == GAME)]
        at_start = within(rounds, (begins, span[0]))["value"]
        rtt = within(rounds, span)
        trips = rtt["value"].astype(np.float64) / 1e6
        steps = np.abs(np.diff(trips))
        figures = _percentiles(trips) | {"mean": float(trips.mean()), "jitter": _p95(steps)} if len(trips) else None
        ends = {UP: (client, server), DOWN: (server, client)}
        ways = [_way(direction, *ends[direction], span, loaded=direction in loads) for direction in (UP, DOWN)]
        longest = float(at_start.max()) / 1e6 if len(at_start) else None
        found.append(Phase(name, start, end, omitted, longest, figures, *ways))
    return found


def within(records: Records, span: Span) -> Records:
    """Return the records of a time."""
    found: Records = records[(records["at"] >= span[0]) & (records["at"] < span[1])]
    return found


def names(records: Records) -> npt.NDArray[np.uint64]:
    """Return a number for the packet of each record, the same at both ends."""
    found: npt.NDArray[np.uint64] = records["flow"].astype(np.uint64) << np.uint64(32) | records["number"]
    return found


def _way(direction: int, sender: Records | None, receiver: Records | None, span: Span, *, loaded: bool) -> Way:
    def own(of: Records, what: int) -> Records:
        chosen: Records = of[(of["what"] == what) & (of["direction"] == direction)]
        return chosen

    sent = lost = mbps = one_way = None
    late = 0
    if receiver is not None:
        arrived = own(receiver, RECEIVED)
        probes, load = arrived[arrived["flow"] <= CALL], arrived[arrived["flow"] > CALL]
        now = within(probes, span)
        late = sum(_reordered(now[now["flow"] == flow]["number"]) for flow in (GAME, CALL))
        delays = now["value"][now["value"] != UNKNOWN].astype(np.float64) / 1e6
        one_way = _percentiles(delays) if len(delays) else None
        if loaded and span[1] > span[0]:
            mbps = float(within(load, span)["payload"].sum()) * 8e3 / (span[1] - span[0])
        if sender is not None:
            ours = within(own(sender, SENT), span)
            sent, lost = len(ours), int((~np.isin(names(ours), names(probes))).sum())
    return Way(sent, lost, late, one_way, mbps)


def _reordered(numbers: npt.NDArray[np.uint32]) -> int:
    return int((numbers < np.maximum.accumulate(numbers)).sum()) if len(numbers) else 0


def _percentiles(values: npt.NDArray[np.float64]) -> dict[str, float]:
    named = {"p50": 50, "p95": 95, "p99": 99}
    return {name: float(np.percentile(values, share)) for name, share in named.items()}


def _p95(values: npt.NDArray[np.float64]) -> float:
    return float(np.percentile(values, 95)) if len(values) else 0.0


BUFFERBLOAT = ((5, "A+"), (30, "A"), (60, "B"), (200, "C"), (400, "D"), (math.inf, "F"))
"""Limits in ms and grades of the DSLReports speed test (from memory: the site has closed)."""

MEANING = {
    "A+": "loads do not delay games and calls",
    "A": "loads delay games and calls by little",
    "B": "shooters feel the loads, calls do not",
    "C": "games lag while the line is loaded",
    "D": "games are hardly playable, and calls suffer, while the line is loaded",
    "F": "games and calls fail while the line is loaded",
}

VIDEO = g1072.Video(bitrate_mbps=10, frame_rate=60, resolution=(1920, 1080))
"""The cloud game that is rated."""
PACKET_MS = 20.0
"""Voice that a packet of the call carries."""


@dataclass(frozen=True)
class Grade:
    """What a phase means for games and calls."""

    phase: str
    shooter: str
    """Grade of `quality.grade`."""
    cloud_mos: float
    """Mean opinion score of a cloud game, 1.3 to 4.64 (ITU-T G.1072)."""
    cloud_outside: tuple[str, ...]
    """Inputs outside the range of G.1072; the score is then an extrapolation."""
    call_mos: float | None
    """Mean opinion score of a call, 1 to 4.5 (E-model); None without one-way delays."""


def grade(phase: Phase) -> Grade | None:
    """Rate a phase; None without round trips or losses.

    The call's delay from mouth to ear is the 99th percentile of the slower direction plus the length of a packet: a
    playout buffer that waits for 99 of 100 packets. The one that is too late counts as lost.
    """
    loss = phase.loss_percent
    if phase.rtt_ms is None or loss is None:
        return None
    cloud = g1072.opinion(VIDEO, g1072.Network(phase.rtt_ms["mean"], freezing_loss_percent=loss))
    ways = [(way.one_way_ms, way.loss_percent) for way in (phase.up, phase.down)]
    scores = [
        quality.e_model_score(
            quality.e_model_rating(delay["p99"] + PACKET_MS, min((lost or 0) + 1, 100), quality.G711_PLC)
        )
        for delay, lost in ways
        if delay is not None
    ]
    shooter = quality.grade(rtt_ms=phase.rtt_ms["p50"], loss_percent=loss, jitter_p95_ms=phase.rtt_ms["jitter"])
    call = min(scores) if len(scores) == len(ways) else None
    return Grade(phase.name, shooter, cloud.overall, cloud.outside, call)


def bufferbloat_ms(of: Sequence[Phase]) -> float | None:
    """Return the largest 95th percentile of the RTT under load minus the idle median; None if one is not known."""
    idle = next((phase.rtt_ms["p50"] for phase in of if phase.name == "idle" and phase.rtt_ms), None)
    loaded = [phase.rtt_ms["p95"] for phase in of if phase.name != "idle" and phase.rtt_ms]
    return None if idle is None or not loaded else max(max(loaded) - idle, 0.0)


def bufferbloat_letter(of: Sequence[Phase]) -> str | None:
    """Return the letter of a measurement; None if a phase is missing: its load might have delayed packets the most."""
    added = bufferbloat_ms(of)
    return None if added is None or without_trips(of) else bufferbloat_grade(added)


def without_trips(of: Sequence[Phase]) -> list[str]:
    """Return the names of the phases without round trips."""
    known = [phase.name for phase in of if phase.rtt_ms]
    return [name for name in PHASES if name not in known]


def bufferbloat_grade(added_ms: float) -> str:
    """Return the letter of an added delay in ms."""
    return next(letter for limit, letter in BUFFERBLOAT if added_ms < limit)
