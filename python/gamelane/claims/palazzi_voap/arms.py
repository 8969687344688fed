"""The arms of palazzi-voap, the values read from them, and the register of checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamelane.claims import findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding
from gamelane.claims.register import Register

DOWNLOAD, GAME, SECOND = "download", "game", "second"
FLOWS = (DOWNLOAD, GAME)
GAMES = ("ut-2-3", "ut-1-3", "rome", "rome-2-3", "rome-1-3")
"""The rows of Table I."""
SEEDS_A_REPEAT = 10
"""The paper averages 50 runs, which equals five repeats."""

GOODPUT = f"flows.{DOWNLOAD}.goodput_bps"
WAITING = "queues.down.backlog_packets.mean"

check = Register("palazzi-voap")


def regular(game: str = "ut-2-3") -> Arm:
    """Return the arm of the regular access point, with a FIFO of 250 packets."""
    return Arm.of({f"flow.{GAME}.model": game})


def voap(game: str = "ut-2-3", **keys: str) -> Arm:
    """Return the arm with VoAP. Without `keys` it has the defaults, which are the thresholds of the paper."""
    return regular(game).with_({"gateway.voap": "true"} | {f"gateway.voap.{key}": value for key, value in keys.items()})


def with_thresholds(alpha: float, beta: float) -> Arm:
    """Return the arm of VoAP with these thresholds in milliseconds."""
    return voap(alpha=f"{alpha}ms", beta=f"{beta}ms")


def thresholds(evidence: Evidence, arm: Arm) -> tuple[float, float]:
    """Return alpha and beta of an arm in milliseconds."""
    own = evidence.document(arm)["gateway"]["voap"]
    return float(own["alpha"].removesuffix("ms")), float(own["beta"].removesuffix("ms"))


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


def for_all_games(judge: Callable[[str], Finding], why: str = "") -> Finding:
    """Judge the statement for each game of Table I. It has to hold for all of them."""
    found = {game: judge(game) for game in GAMES}
    return findings.all_of(*(labelled(game, each) for game, each in found.items()), why=why)


def labelled(label: str, found: Finding) -> Finding:
    """Return the finding with the name of what it is about."""
    return Finding(found.outcome, f"{label}: {found.ours}", found.why and f"{label}: {found.why}")
