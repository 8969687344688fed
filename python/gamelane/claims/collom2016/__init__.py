"""collom2016: FIFO, PIE, CoDel, FQ-PIE and FQ-CoDel at a home gateway against shooter traffic.

Each check judges the claim of the same id in `collom2016.toml` beside this folder. Where the paper gives no
value, the scenario `collom2016` states ours, and why. `settings.toml` holds other values, to see what they move.
"""

from __future__ import annotations

from gamelane.claims.collom2016 import (  # noqa: F401 - they register checks
    abilities,
    fair,
    further,
    game_alone,
    inputs,
    mechanisms,
    outside,
    single,
    video,
)
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    BUFFERS,
    FAST,
    FLOW_QUEUES,
    GAMES,
    QUEUES,
    SLOW,
    alone,
    alone_at_40ms,
    bulk_only,
    check,
    dash_only,
    every_game_and_rtt,
    mixed,
    paper,
    playing,
)
from gamelane.claims.evidence import Evidence

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "collom2016"


def prefetch(evidence: Evidence) -> None:
    """Run all arms in one parallel batch."""
    arms = [mixed(queue, packets, link) for queue in QUEUES for packets in BUFFERS for link in (SLOW, FAST)]
    arms += [arm(queue) for queue in QUEUES for arm in (bulk_only, dash_only)]
    arms += [alone(), alone_at_40ms()]
    arms += [mixed("fq_codel", 1000, link, rtt) for link in (SLOW, FAST) for rtt in BASE_RTTS]
    arms += [playing(paper(queue), game) for queue in QUEUES for game in GAMES.values()]
    arms += [arm for queue in FLOW_QUEUES for arm in every_game_and_rtt(queue)]
    evidence.prepare(arms)
