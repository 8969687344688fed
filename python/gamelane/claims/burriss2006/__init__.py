"""burriss2006: priority for one or two UDP streams on a DOCSIS upstream, beside one or two uploads.

Each check judges the claim of the same id in `burriss2006.toml` beside this folder. The modem is the one that but2006's
loss suggests (gamelane/claims/but2006/loss.py). Nothing was set by this paper's results.
"""

from __future__ import annotations

from gamelane.claims.burriss2006 import across, further, inputs, tables  # noqa: F401 - they register checks
from gamelane.claims.burriss2006.arms import CELLS, check, none, prioritised, streams
from gamelane.claims.evidence import Evidence

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "burriss2006"


def prefetch(evidence: Evidence) -> None:
    """Run the arms of the four tables in parallel."""
    arms = [arm for cell in CELLS for arm in (none(cell), prioritised(cell))]
    evidence.prepare(arms)
    for arm in arms:
        streams(evidence, arm)
