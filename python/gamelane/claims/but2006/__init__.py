"""but2006: priority for a game on a DOCSIS upstream, and what TCP pays for it.

Each check judges the claim of the same id in `but2006.toml` beside this folder. Where the paper is silent the scenario
says what we took, and docs/claims/but2006.md how much depends on it.
"""

from __future__ import annotations

from gamelane.claims.but2006 import arithmetic, baseline, further, inputs, link, loss, priority  # noqa: F401 - they register checks
from gamelane.claims.but2006.arms import CHECKS, prefetched
from gamelane.claims.evidence import Evidence

__all__ = ["CHECKS", "SCENARIO", "prefetch"]

SCENARIO = "but2006"


def prefetch(evidence: Evidence) -> None:
    """What most checks share, in one parallel batch."""
    evidence.prepare(prefetched())
