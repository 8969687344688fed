"""but2006: priority for a game on a DOCSIS upstream, and its cost for TCP.

Each check judges the claim of the same id in `but2006.toml` beside this folder. Where the paper gives no
value, the scenario states ours, and docs/claims/but2006.md shows how much depends on it.
"""

from __future__ import annotations

from gamelane.claims.but2006 import arithmetic, baseline, further, inputs, link, loss, priority  # noqa: F401 - they register checks
from gamelane.claims.but2006.arms import check, prefetched
from gamelane.claims.evidence import Evidence

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "but2006"


def prefetch(evidence: Evidence) -> None:
    """Run the arms that most checks share, in one parallel batch."""
    evidence.prepare(prefetched())
