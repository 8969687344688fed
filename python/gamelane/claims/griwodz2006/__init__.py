"""griwodz2006: an online game over TCP, with thin streams whose losses only timeouts repair.

Each check judges the claim of the same id in `griwodz2006.toml` beside this folder. The trace behind the paper is not
public. Its generator (models/mmo/anarchy-online.toml) and so all counts are our construction.
"""

from __future__ import annotations

from gamelane.claims.evidence import Evidence
from gamelane.claims.griwodz2006 import (  # noqa: F401 - they register checks
    bulk,
    bundling,
    further,
    mechanisms,
    modified,
    mux,
    streams,
    table1,
    table2,
    testbed,
    trace,
    variants,
)
from gamelane.claims.griwodz2006.arms import AT_100MS, GRID, SETTINGS, check, simplex
from gamelane.claims.griwodz2006.arms import modified as modified_timeout

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "griwodz2006"


def prefetch(evidence: Evidence) -> None:
    """Run all arms in one parallel batch."""
    arms = [simplex(condition, setting) for condition in AT_100MS for setting in SETTINGS]
    arms += [arm(condition) for arm in (simplex, modified_timeout) for condition in GRID]
    arms += variants.prefetched() + mechanisms.prefetched() + mux.prefetched() + streams.prefetched()
    arms += table1.prefetched() + modified.prefetched() + bundling.prefetched()
    arms += further.prefetched()
    evidence.prepare(arms + trace.prefetched())
