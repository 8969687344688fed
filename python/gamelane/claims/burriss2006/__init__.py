"""burriss2006: priority for one or two UDP streams on a DOCSIS upstream, beside one or two uploads.

Each check judges the claim of the same id in `burriss2006.toml` beside this folder. The rate of the link and the choice
to shape only with priority come from the TCP rows of the first two tables, the modem's slots from the loss of the first
table. So these three rows are `fitted`.
"""

from __future__ import annotations

from gamelane.claims.burriss2006 import across, further, inputs, tables  # noqa: F401 - they register checks
from gamelane.claims.burriss2006.arms import CELLS, check, other_readings, streams, table, tcp_arms
from gamelane.claims.evidence import Evidence

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "burriss2006"


def prefetch(evidence: Evidence) -> None:
    """Run the arms of the four tables, in all their readings, in parallel."""
    evidence.prepare([arm for cell in CELLS for arm in tcp_arms(cell)])
    for cell in CELLS:
        for pair in (table(cell), *other_readings(cell).values()):
            for column in pair:
                streams(evidence, column)
