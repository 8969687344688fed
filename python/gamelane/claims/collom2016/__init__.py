"""collom2016: FIFO, PIE, CoDel, FQ-PIE and FQ-CoDel at a home gateway against shooter traffic.

Each check judges the claim of the same id in `collom2016.toml` beside this folder. Where the paper gives no
value, the scenario `collom2016` states ours, and why.
"""

from __future__ import annotations

from gamelane.claims.collom2016 import fair, game_alone, inputs, mechanisms, single, video  # noqa: F401 - they register checks
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    FAST,
    GAME,
    GAMES,
    QUEUES,
    SLOW,
    alone,
    alone_at_40ms,
    bulk_only,
    check,
    dash_only,
    every_game_and_rtt,
    fifo_variants,
    mixed,
    paper,
)
from gamelane.claims.evidence import Evidence

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "collom2016"


def prefetch(evidence: Evidence) -> None:
    """Run all arms in one parallel batch."""
    arms = [mixed(queue, packets) for queue in QUEUES for packets in (100, 1000)]
    arms += [mixed(queue, packets, FAST) for queue in QUEUES for packets in (100, 1000)]
    arms += [bulk_only(queue) for queue in QUEUES] + [dash_only(queue) for queue in QUEUES]
    arms += [alone(), alone_at_40ms()]
    arms += [mixed("fq_codel", 1000, link, rtt) for link in (SLOW, FAST) for rtt in BASE_RTTS]
    arms += [paper(queue).with_({f"flow.{GAME}.model": game}) for queue in QUEUES for game in GAMES]
    arms += [arm for queue in ("fq_codel", "fq_pie") for arm in every_game_and_rtt(queue)]
    arms += list(fifo_variants().values())
    evidence.prepare(arms)
