"""The arms of griwodz2006, the values read from them, and the register of checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gamelane import _native
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.register import Register

PLAYERS = "players"
CONNECTIONS = 175
TRACE_SECONDS = 1855

check = Register("griwodz2006")


@dataclass(frozen=True)
class Condition:
    """A cell of the paper's grid: loss in per cent and delay in ms, each way, and jitter in per cent of the delay."""

    loss: int
    delay: int
    jitter: int

    def __str__(self) -> str:
        return f"{self.loss} %/{self.delay} ms/{self.jitter} %"

    @property
    def keys(self) -> dict[str, str]:
        """Return the keys of the condition. ±10 % of 100 ms is 90 ms plus a uniform 0 to 20 ms."""
        least = 2 * self.delay * (100 - self.jitter) // 100
        spread = 2 * self.delay * self.jitter // 100
        return {
            "link.rtt": f"{least}ms",
            f"flow.{PLAYERS}.path_jitter": f"{spread}ms",
            f"flow.{PLAYERS}.loss": f"{self.loss}%",
        }


GRID = tuple(Condition(loss, delay, jitter) for loss in (1, 5) for delay in (100, 300) for jitter in (0, 10))
AT_100MS = tuple(condition for condition in GRID if condition.delay == 100)
"""The four blocks of figures 2 and 3."""
TABLE_1 = Condition(1, 100, 0)

TCP = f"flow.{PLAYERS}.tcp"
RENO = {f"{TCP}.congestion": "newreno"}
PLAIN = {f"{TCP}.recovery": "newreno"}
SETTINGS: dict[str, dict[str, str]] = {
    "New Reno": RENO | PLAIN,
    "SACK": RENO | {f"{TCP}.recovery": "sack"},
    "DSACK": RENO | {f"{TCP}.recovery": "sack", f"{TCP}.dsack": "true"},
    "FACK": RENO | {f"{TCP}.recovery": "fack"},
    "DSACK+FACK": RENO | {f"{TCP}.recovery": "fack", f"{TCP}.dsack": "true"},
    "Westwood": PLAIN | {f"{TCP}.congestion": "westwood"},
    "BIC": PLAIN | {f"{TCP}.congestion": "bic"},
    "Vegas": PLAIN | {f"{TCP}.congestion": "vegas"},
}
"""Westwood, BIC and Vegas run without SACK: the paper lists them beside "plain" New Reno and does not say."""
HIGH_SPEED = ("Westwood", "BIC", "Vegas")
EXTENSIONS = ("DSACK", "FACK", "DSACK+FACK")

MODIFIED = {f"{TCP}.timer": "modified"}
MULTIPLEXED = {f"flow.{PLAYERS}.carriage": "mux", f"flow.{PLAYERS}.carriers": "1"}


def bursts(percent: float, packets: int = 5) -> dict[str, str]:
    """Return keys for losses of the same mean each way, in bursts of `packets` on average (Gilbert-Elliott)."""
    end = 100 / packets
    begin = end * percent / (100 - percent)
    return {f"flow.{PLAYERS}.loss.good_to_bad": f"{begin:.4f}%", f"flow.{PLAYERS}.loss.bad_to_good": f"{end:g}%"}


def simplex(condition: Condition = TABLE_1, setting: str = "FACK") -> Arm:
    """Return the arm with a connection for each player."""
    return Arm.of(condition.keys | SETTINGS[setting])


def modified(condition: Condition) -> Arm:
    """Return the arm with the modified timeout, with FACK as in the paper's figures and table."""
    return simplex(condition).with_(MODIFIED)


def multiplexed(condition: Condition = TABLE_1, setting: str = "FACK") -> Arm:
    """Return the arm with all players over one connection."""
    return simplex(condition, setting).with_(MULTIPLEXED)


def thin(evidence: Evidence, arm: Arm, path: str) -> Numbers:
    """Return one number per seed from the players' `thin` section."""
    return evidence.values(arm, f"flows.{PLAYERS}.thin.{path}")


def count(evidence: Evidence, arm: Arm, number: int, kind: str = "total") -> Numbers:
    """Return how often a packet was retransmitted for the `number`-th time."""
    return thin(evidence, arm, f"nth.{number}.{kind}")


def delay(evidence: Evidence, arm: Arm, number: int) -> Numbers:
    """Return the mean time in ms from the first transmission to the `number`-th retransmission, if it was successful.

    Counts packets that were retransmitted by themselves. Packets included in another packet's retransmission were sent
    later and waited less. Seeds without such packets are omitted.
    """
    values = thin(evidence, arm, f"nth.{number}.delay_ms_self")
    return values[~np.isnan(values)]


def wire_packets(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the packets sent, data and ACKs."""
    return _both_ways(evidence, arm, "sent")


def wire_bytes(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the bytes sent, both ways, including Ethernet headers as in table 1 (docs/claims/griwodz2006.md)."""
    return _both_ways(evidence, arm, "sent_bytes") + _native.ETHERNET_HEADER * wire_packets(evidence, arm)


def _both_ways(evidence: Evidence, arm: Arm, what: str) -> Numbers:
    up, down = (evidence.values(arm, f"flows.{PLAYERS}.{way}.{what}") for way in ("up", "down"))
    return up + down


def duration_s(evidence: Evidence) -> float:
    """Return the length of each run."""
    return float(evidence.document()["duration"].removesuffix("s"))
