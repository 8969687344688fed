"""The arms of but2006, the values read from them, and the register of checks."""

from __future__ import annotations

import numpy as np

from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.register import Register

GAME, UPLOAD, DOWNLOAD = "game", "upload", "download"

check = Register("but2006")


FIFO_QUEUE = {"gateway.up.queue": "fifo"}
UNSHAPED_KEY = {"gateway.shape": "{}"}
WITHOUT_GAME = {f"flow.{GAME}.enabled": "false"}
WITHOUT_UPLOAD = {f"flow.{UPLOAD}.enabled": "false"}

PRIORITY = Arm.of({})
FIFO = Arm.of(FIFO_QUEUE)
TWO_TRANSFERS = FIFO.with_(WITHOUT_GAME)
DOWNLOAD_ALONE = TWO_TRANSFERS.with_(WITHOUT_UPLOAD)
ACKS_FIRST = Arm.of({"gateway.up.acks": "prioritise"})
ACKS_FILTERED = Arm.of({"gateway.up.acks": "filter"})
UNSHAPED = Arm.of(UNSHAPED_KEY)
IN_THE_MODEM = Arm.of(FIFO_QUEUE | UNSHAPED_KEY | {"gateway.modem.queue": "priority"})

DOCSIS_1_0 = {"link.docsis.concatenation": "false", "link.docsis.map_interval": "10ms"}
"""A modem that sends one packet a grant, with MAPs 10 ms apart, the longest typical interval."""

THREE_SLOTS = DOCSIS_1_0 | {"gateway.modem.limit": "3p"}
"""The same modem with room for three packets."""


def prefetched() -> list[Arm]:
    """Return the arms that several checks use."""
    plain = [PRIORITY, FIFO, TWO_TRANSFERS, DOWNLOAD_ALONE, ACKS_FIRST, ACKS_FILTERED, UNSHAPED, IN_THE_MODEM]
    return [*plain, UNSHAPED.with_(FIFO_QUEUE)]


def game_loss(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the loss of the game's packets upstream in per cent."""
    return 100 * evidence.values(arm, f"flows.{GAME}.up.loss")


def game_delay(evidence: Evidence, arm: Arm, which: str = "mean") -> Numbers:
    """Return the queueing delay in ms of the game's upstream packets that arrived."""
    return evidence.values(arm, f"flows.{GAME}.up.queue_delay_ms.{which}")


def throughput(evidence: Evidence, arm: Arm, flow: str) -> Numbers:
    """Return the goodput of a transfer in kbit/s, as iperf reports it."""
    return evidence.values(arm, f"flows.{flow}.goodput_bps") / 1e3


def round_trip(evidence: Evidence, arm: Arm, flow: str) -> Numbers:
    """Return the mean round trip of a transfer between its hosts in ms."""
    return evidence.values(arm, f"flows.{flow}.rtt_ms.mean")


def ack_delay(evidence: Evidence, arm: Arm, flow: str) -> Numbers:
    """Return the mean queueing delay in ms of the packets that acknowledge a transfer."""
    way = "down" if flow == UPLOAD else "up"
    return evidence.values(arm, f"flows.{flow}.{way}.queue_delay_ms.mean")


def fall(before: Numbers, after: Numbers) -> Numbers:
    """Return the decrease from `before` to `after` in per cent of `before`."""
    return np.asarray(100 * (1 - after / before))
