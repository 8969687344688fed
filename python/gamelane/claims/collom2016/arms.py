"""The arms of collom2016, the values read from them, and the register of checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.register import Register

GAME, UPLOAD, WEB, DASH = "game", "upload", "web", "dash"

QUEUES = ("fifo", "pie", "codel", "fq_pie", "fq_codel")
FLOW_QUEUES = ("fq_codel", "fq_pie")
GAMES = {
    "Quake III": "quake3",
    "Quake IV": "quake4",
    "Half-Life death match 1": "hldm",
    "Half-Life death match 2": "hl2dm",
    "Half-Life Counter-Strike 1": "hlcs",
    "Half-Life Counter-Strike 2": "cssource",
    "Wolfenstein Enemy Territory 2 Pro": "et",
}
"""Our model of each game of the paper."""
BASE_RTTS = ("0ms", "20ms", "40ms", "100ms", "160ms", "200ms", "300ms", "400ms")
BUFFERS = (100, 1000)
SLOW, FAST = ("12mbit", "1mbit"), ("50mbit", "20mbit")
LOADED_S = 12
"""From here on the upload, which begins at 10 s, fills the queue."""

RTT_MAX = f"flows.{GAME}.rtt_ms.max"
RTT_MEAN = f"flows.{GAME}.rtt_ms.mean"
RTT_MEDIAN = f"flows.{GAME}.rtt_ms.p50"
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


def paper(queue: str, link: tuple[str, str] = SLOW) -> Arm:
    """Return the arm of the paper's figures: FIFO with 100 packets, the other queues with 1000."""
    return mixed(queue, 100 if queue == "fifo" else 1000, link)


def without(arm: Arm, *flows: str) -> Arm:
    """Return the arm with these flows switched off."""
    return arm.with_({f"flow.{flow}.enabled": "false" for flow in flows})


def playing(arm: Arm, model: str) -> Arm:
    """Return the arm with another game."""
    return arm.with_({f"flow.{GAME}.model": model})


def own_client(arm: Arm) -> Arm:
    """Return the arm in which the client sends the game's own stream, not the one of TEACUP's generator."""
    return arm.with_({f"flow.{GAME}.client": "game"})


def small_window(arm: Arm) -> Arm:
    """Return the arm with the receive window that FreeBSD starts from, without growth."""
    return arm.with_({"tcp.receive_window": "64KiB"})


def without_sack(arm: Arm) -> Arm:
    """Return the arm with NewReno recovery."""
    return arm.with_({"tcp.recovery": "newreno"})


def bulk_only(queue: str) -> Arm:
    """Return the arm with the game and the upload."""
    return without(paper(queue), WEB, DASH)


def dash_only(queue: str) -> Arm:
    """Return the arm with the game and the video."""
    return without(paper(queue), WEB, UPLOAD)


def alone(rtt: str = "0ms") -> Arm:
    """Return the arm with the game alone."""
    return without(mixed("fifo", 100, rtt=rtt), WEB, DASH, UPLOAD)


def alone_at_40ms() -> Arm:
    """Return the arm with the game alone at the base round trip of the other arms."""
    return alone("40ms")


def every_game_and_rtt(queue: str) -> list[Arm]:
    """Return the arms of Fig. 19: each game at each base round trip."""
    return [playing(mixed(queue, 1000, rtt=rtt), game) for game in GAMES.values() for rtt in BASE_RTTS]


def base_ms(evidence: Evidence, arm: Arm) -> float:
    """Return the base round trip of an arm."""
    return _native.read_quantity(evidence.document(arm)["link"]["rtt"], "time") / 1e6


def limit_packets(evidence: Evidence, arm: Arm) -> int:
    """Return how many packets the queues of an arm hold."""
    return int(evidence.document(arm)["gateway"]["up"]["limit"].removesuffix("p"))


def added(evidence: Evidence, arm: Arm, path: str) -> Numbers:
    """Return what a round trip is above the base round trip."""
    return evidence.values(arm, path) - base_ms(evidence, arm)


def near_above_base(evidence: Evidence, claim: Claim, arm: Arm, path: str, why: str = "") -> Finding:
    """Judge a round trip by its part above the base round trip, because the base is a setting."""
    allowed = claim.limits["percent"] / 100 * (claim.theirs - base_ms(evidence, arm))
    return findings.between(evidence.values(arm, path), claim.theirs - allowed, claim.theirs + allowed, "ms", why)


def lost(evidence: Evidence, arm: Arm) -> Numbers:
    """Return how many packets the game lost, both directions."""
    return evidence.values(arm, f"flows.{GAME}.up.lost") + evidence.values(arm, f"flows.{GAME}.down.lost")


def loss_percent(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the share of the game's packets that were lost, both directions."""
    sent = evidence.values(arm, f"flows.{GAME}.up.sent") + evidence.values(arm, f"flows.{GAME}.down.sent")
    return 100 * lost(evidence, arm) / sent


def cv(evidence: Evidence, arm: Arm, direction: str) -> Numbers:
    """Return the coefficient of variation of the game's throughput per second."""
    return evidence.values(arm, f"flows.{GAME}.{direction}.throughput_bps.cv")


def fluctuation(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the coefficient of variation of the direction that fluctuates more. The paper plots both."""
    return np.maximum(cv(evidence, arm, "up"), cv(evidence, arm, "down"))


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


def rtt_period(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the period of the game's round trip, in seconds."""
    return _period(evidence, arm, lambda run: dominant_period(run, "rtt", None), "period-rtt")


def downstream_period(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the period of the game's queue delay downstream, in seconds."""
    return _period(evidence, arm, lambda run: dominant_period(run, "delay", "down"), "period-down")


def _period(evidence: Evidence, arm: Arm, measure: Callable[[_native.Run], float], name: str) -> Numbers:
    return np.array(evidence.derived(arm, name, measure))
