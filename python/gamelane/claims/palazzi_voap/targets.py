"""The delays that the authors aim at: 15 ms in the queue on average, 150 ms for every packet of the game."""

from __future__ import annotations

from itertools import chain

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.palazzi_voap.arms import (
    DOWNLOAD,
    GAME,
    GAMES,
    averaged,
    check,
    for_all_games,
    queue_delay,
    regular,
    voap,
)


@check("delay-target")
def delay_target(evidence: Evidence, claim: Claim) -> Finding:
    runs = averaged(evidence)
    highest = claim.theirs["le"] * (1 + claim.limits["percent"] / 100)
    slow = [float(runs.values(voap(game), f"flows.{DOWNLOAD}.down.queue_delay_ms.p95").mean()) for game in GAMES]
    return for_all_games(
        lambda game: findings.below(queue_delay(runs, voap(game)), highest, "ms"),
        "the mean settles between alpha and beta, because the law does not move a delay between the two. Single"
        f" packets wait longer: one in twenty of the download's above {min(slow):.0f} to {max(slow):.0f} ms",
    )


@check("deadline")
def deadline(evidence: Evidence, claim: Claim) -> Finding:
    def missed(run: _native.Run) -> dict[str, float]:
        """Count packets of the game in the whole run: late or dropped by the gateway, and given up by the radio."""
        delay, drops = columns(run, "delay"), columns(run, "drops")
        late = (delay["flow"] == GAME) & (delay["one_way_ms"] > claim.theirs)
        own, radio = drops["flow"] == GAME, drops["reason"] == "link"
        times = np.concatenate([delay["t_s"][late], drops["t_s"][own & ~radio], [0]])
        return {
            "gateway": float(late.sum() + (own & ~radio).sum()),
            "radio": float((own & radio).sum()),
            "last_s": float(times.max()),
        }

    def over_games(runs: Evidence, arms: list[Arm], key: str) -> Numbers:
        found = chain.from_iterable(runs.derived(arm, f"missed {claim.theirs} ms", missed) for arm in arms)
        return np.array([run[key] for run in found])

    steered = [voap(game) for game in GAMES]
    gateway, radio, last_s = (over_games(averaged(evidence), steered, key) for key in ("gateway", "radio", "last_s"))
    before = over_games(evidence, [regular(game) for game in GAMES], "gateway")
    found = findings.zero(gateway + radio, "packets")
    slow_start = (
        f". The last at the gateway is at {last_s.max():.1f} s, in slow start: see `noloss`" if gateway.any() else ""
    )
    return Finding(
        found.outcome,
        f"{found.ours}; late or dropped by the gateway in {(gateway > 0).sum()}, given up by the radio in"
        f" {(radio > 0).sum()}. Regular: {(before > 0).sum()} of {before.size} runs",
        "one way, without rendering and the player's screen. The radio gives up a packet after seven collisions,"
        " whatever the queue" + slow_start,
    )
