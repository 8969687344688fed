"""What the conclusion implies: how the link, the traffic and the players change which queue is needed (section V)."""

from __future__ import annotations

from collections.abc import Callable

from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import (
    FAST,
    GAME,
    GAMES,
    QUEUES,
    bulk_only,
    check,
    dash_only,
    loss_percent,
    mixed,
    paper,
    playing,
)
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, given

MOST_PLAYERS = 32
P99 = f"flows.{GAME}.rtt_ms.p99"


@check("f.none")
def which_queue(evidence: Evidence, claim: Claim) -> Finding:
    households: dict[str, Callable[[str], list[Arm]]] = {
        "12/1, all traffic": lambda queue: [paper(queue)],
        "each game (Quake III's delays)": lambda queue: [playing(paper(queue), game) for game in GAMES.values()],
        f"{MOST_PLAYERS} players": lambda queue: [paper(queue).with_({f"flow.{GAME}.players": str(MOST_PLAYERS)})],
        "12/1, upload only": lambda queue: [bulk_only(queue)],
        "12/1, video only": lambda queue: [dash_only(queue)],
        "50/20, all traffic": lambda queue: [paper(queue, FAST)],
        "50/20, 1000 packets": lambda queue: [mixed(queue, 1000, FAST)],
    }
    lines = []
    for name, arms in households.items():
        good = [queue for queue in QUEUES if all(_playable(evidence, arm, claim) for arm in arms(queue))]
        fifo, fair = (findings.number(evidence.values(arms(queue)[0], P99)) for queue in (QUEUES[0], QUEUES[-1]))
        lines.append(f"{name}: {', '.join(good) or 'none'} (FIFO {fifo}, FQ-CoDel {fair} ms)")
    return given(
        True,
        "; ".join(lines),
        "the direction of the load decides: an upload fills the slow uplink, and then only flow queues keep the game"
        " playable. On a fast link a small buffer is enough. The game and the number of players do not change that",
    )


def _playable(evidence: Evidence, arm: Arm, claim: Claim) -> bool:
    """Return whether delay and loss are surely within the budget."""
    both = findings.all_of(
        findings.below(evidence.values(arm, P99), claim.limits["ms"], "ms"),
        findings.below(loss_percent(evidence, arm), claim.limits["percent"], "%"),
    )
    return both.outcome == "reproduced"
