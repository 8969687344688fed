"""Figures 2 and 3 of palazzi-voap. The paper's bars have no numbers."""

from __future__ import annotations

from collections.abc import Callable

from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.palazzi_voap.arms import GAMES, GOODPUT, averaged, queue_delay, regular, voap
from gamelane.plot.panels import Figure
from gamelane.report.papers import Theirs
from gamelane.report.papers.pictures import Heading, Value, bars


def figures(evidence: Evidence, _: Theirs) -> list[Figure]:
    """Return the paper's figures in its order."""
    runs = averaged(evidence)
    caption = f"Mean of {len(runs.seeds)} runs for each game"
    rates = _values(lambda arm: runs.values(arm, GOODPUT) / 1e6)
    waits = _values(lambda arm: queue_delay(runs, arm))
    return [
        bars(
            Heading("Fig. 2", "throughput of the FTP download", f"{caption}, in Mbit/s; higher is better."),
            {"": (rates, "Mbit/s")},
        ),
        bars(
            Heading("Fig. 3", "queueing delay at the gateway", f"{caption}, in ms; lower is better."),
            {"": (waits, "ms")},
        ),
    ]


def _values(measure: Callable[[Arm], Numbers]) -> list[Value]:
    return [
        Value(game, word, measure(arm(game))) for game in GAMES for word, arm in (("regular", regular), ("VoAP", voap))
    ]
