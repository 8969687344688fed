"""The papers' scenarios, shortened: for tests of what checks do, not of what they find."""

from __future__ import annotations

from functools import cache

from gamelane import experiment
from gamelane.claims.evidence import Evidence
from gamelane.claims.judge import package

SHORTER: dict[str, list[tuple[str, str]]] = {
    "collom2016": [("duration", "30s")],
    "griwodz2006": [("duration", "200s"), ("flow.players.connections", "35")],
    "palazzi-voap": [("duration", "12s"), ("warmup", "2s")],
    "but2006": [("duration", "120s")],
    "burriss2006": [("duration", "60s")],
}


@cache
def evidence(paper: str) -> Evidence:
    """Return two short runs of each arm, kept for all tests."""
    base = experiment.load(package(paper).SCENARIO).scenario.with_overrides(SHORTER[paper])
    return Evidence(base, repeats=2, threads=2)
