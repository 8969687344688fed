"""The arms of palazzi-voap, the values read from them, and the register of checks."""

from __future__ import annotations

import numpy as np

from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.register import Register

DOWNLOAD, GAME, SECOND = "download", "game", "second"
GAMES = {"ut-2-3": 4200, "ut-1-3": 2000, "rome": 3817, "rome-2-3": 2500, "rome-1-3": 1270}
"""Table I: the rate of the video in kbit/s."""
FLOWS = (DOWNLOAD, GAME)
COMMANDS = {"ut-2-3": 125, "ut-1-3": 125, "rome": 100, "rome-2-3": 100, "rome-1-3": 100}
"""Section III: the rate of the commands in kbit/s."""
ALPHA, BETA = 5, 15
"""Section II, in milliseconds."""
SEEDS_A_REPEAT = 10
"""The paper averages 50 runs, which equals five repeats."""

GOODPUT = f"flows.{DOWNLOAD}.goodput_bps"
WAITING = "queues.down.backlog_packets.mean"

check = Register("palazzi-voap")


def regular(game: str = "ut-2-3") -> Arm:
    """Return the arm of the regular access point, with a FIFO of 250 packets."""
    return Arm.of({f"flow.{GAME}.model": game})


def voap(game: str = "ut-2-3", alpha: float = ALPHA, beta: float = BETA, **keys: str) -> Arm:
    """Return the arm with VoAP; thresholds in milliseconds."""
    own = {"alpha": f"{alpha}ms", "beta": f"{beta}ms", **keys}
    return regular(game).with_({f"gateway.voap.{key}": value for key, value in own.items()})


def figures() -> list[Arm]:
    """Return the arms of Figs. 2 and 3."""
    return [arm(game) for game in GAMES for arm in (regular, voap)]


def averaged(evidence: Evidence) -> Evidence:
    """Return evidence over the number of seeds that a figure averages."""
    return evidence.beside("figures", times=SEEDS_A_REPEAT)


def queue_delay(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the mean delay of all downstream packets in the gateway's queues in ms: Fig. 3 means all packets."""
    packets, delay = (
        np.array([evidence.values(arm, f"flows.{flow}.down.{path}") for flow in FLOWS])
        for path in ("received", "queue_delay_ms.mean")
    )
    mean: Numbers = (packets * delay).sum(axis=0) / packets.sum(axis=0)
    return mean
