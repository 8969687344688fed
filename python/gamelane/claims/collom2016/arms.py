"""The arms of collom2016, the values read from them, and the register of checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane import _native
from gamelane.claims import findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.register import Register

GAME, UPLOAD, WEB, DASH = "game", "upload", "web", "dash"

QUEUES = ("fifo", "pie", "codel", "fq_pie", "fq_codel")
GAMES = ("quake3", "quake4", "hldm", "hl2dm", "hlcs", "cssource", "et")
BASE_RTTS = ("0ms", "20ms", "40ms", "100ms", "160ms", "200ms", "300ms", "400ms")
SLOW, FAST = ("12mbit", "1mbit"), ("50mbit", "20mbit")

RTT_MAX = f"flows.{GAME}.rtt_ms.max"
RTT_MEAN = f"flows.{GAME}.rtt_ms.mean"
RTT_MEDIAN = f"flows.{GAME}.rtt_ms.p50"
CV_UP = f"flows.{GAME}.up.throughput_bps.cv"
CV_DOWN = f"flows.{GAME}.down.throughput_bps.cv"
THROUGHPUT_UP = f"flows.{GAME}.up.throughput_bps.mean"
THROUGHPUT_DOWN = f"flows.{GAME}.down.throughput_bps.mean"

check = Register("collom2016")


def mixed(queue: str, packets: int, link: tuple[str, str] = SLOW, rtt: str = "40ms") -> Arm:
    """Return the arm with all traffic, both directions behind `queue`."""
    return Arm.of(
        {
            "gateway.*.queue": queue,
            "gateway.*.limit": f"{packets}p",
            "link.down": link[0],
            "link.up": link[1],
            "link.rtt": rtt,
        }
    )


def paper(queue: str) -> Arm:
    """Return the arm of the paper's figures: FIFO with 100 packets, the other queues with 1000."""
    return mixed(queue, 100 if queue == "fifo" else 1000)


def without(arm: Arm, *flows: str) -> Arm:
    """Return the arm with these flows switched off."""
    return arm.with_({f"flow.{flow}.enabled": "false" for flow in flows})


def small_window(arm: Arm) -> Arm:
    """Return the arm with the receive window that FreeBSD starts from, without growth."""
    return arm.with_({"tcp.receive_window": "64KiB"})


def without_sack(arm: Arm) -> Arm:
    """Return the arm with NewReno recovery."""
    return arm.with_({"tcp.recovery": "newreno"})


def bulk_only(queue: str) -> Arm:
    return without(paper(queue), WEB, DASH)


def dash_only(queue: str) -> Arm:
    return without(paper(queue), WEB, UPLOAD)


def alone() -> Arm:
    return without(mixed("fifo", 100, rtt="0ms"), WEB, DASH, UPLOAD)


def alone_at_40ms() -> Arm:
    return without(mixed("fifo", 100), WEB, DASH, UPLOAD)


def every_game_and_rtt(queue: str) -> list[Arm]:
    return [mixed(queue, 1000, rtt=rtt).with_({f"flow.{GAME}.model": game}) for game in GAMES for rtt in BASE_RTTS]


def fifo_variants() -> dict[str, Arm]:
    """Return the changes that move the FIFO peak: the window, the slots, and the slots that small packets take."""
    base = paper("fifo")
    return {
        "64 KiB receive window": base.with_({"tcp.receive_window": "64KiB"}),
        "50 slots (dummynet's default)": base.with_({"gateway.*.limit": "50p"}),
        "150000-byte limit instead of 100 slots": base.with_({"gateway.*.limit": "150000B"}),
        "the game's own client stream (30 packets/s instead of 100)": base.with_({f"flow.{GAME}.client": "game"}),
        "game and upload only": bulk_only("fifo"),
    }


def lost(evidence: Evidence, arm: Arm) -> Numbers:
    return evidence.values(arm, f"flows.{GAME}.up.lost") + evidence.values(arm, f"flows.{GAME}.down.lost")


def loss_percent(evidence: Evidence, arm: Arm) -> Numbers:
    sent = evidence.values(arm, f"flows.{GAME}.up.sent") + evidence.values(arm, f"flows.{GAME}.down.sent")
    return 100 * lost(evidence, arm) / sent


def fluctuation(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the fluctuation of the game's throughput in the congested direction, which has the larger value."""
    return np.maximum(evidence.values(arm, CV_UP), evidence.values(arm, CV_DOWN))


def dominant_period(run: _native.Run, table: str, direction: str | None) -> float:
    """Return the lag from 4 to 16 s with the highest autocorrelation of the game's 0.5 s maxima, in seconds."""
    rows = columns(run, table)
    own = rows["flow"] == GAME
    if direction is not None:
        own &= rows["direction"] == direction
    value = rows["rtt_ms" if table == "rtt" else "queue_delay_ms"][own]
    bins = (rows["t_s"][own] / 0.5).astype(int)
    series = np.zeros(120)
    np.maximum.at(series, np.minimum(bins, 119), value)
    series = series[20:] - series[20:].mean()
    lags = range(8, 33)
    if not series.any():
        return 0.0
    power = [float(np.dot(series[:-lag], series[lag:])) / (len(series) - lag) for lag in lags]
    return lags[int(np.argmax(power))] / 2


def period(arm: Arm, name: str, table: str, direction: str | None) -> Callable[[Evidence], Numbers]:
    def periods(evidence: Evidence) -> Numbers:
        return np.array(evidence.derived(arm, name, lambda run: dominant_period(run, table, direction)))

    return periods


def same_throughput(evidence: Evidence, arm: Arm) -> Finding:
    ours = evidence.values(arm, THROUGHPUT_DOWN) + evidence.values(arm, THROUGHPUT_UP)
    base = evidence.values(alone_at_40ms(), THROUGHPUT_DOWN) + evidence.values(alone_at_40ms(), THROUGHPUT_UP)
    return findings.near(ours / base, 1, 10, "of the throughput alone")
