"""palazzi-voap: an access point that lowers the windows of downloads, so a cloud game does not wait behind them.

Each check judges the claim of the same id in `palazzi-voap.toml` beside this folder. The OnLive traces are not public:
frames at their rates are our construction. The paper's figures are bars without numbers, so the checks judge what the
text says about them.
"""

from __future__ import annotations

from gamelane.claims.evidence import Evidence
from gamelane.claims.palazzi_voap import beyond, inputs, law, outcome, targets, thresholds  # noqa: F401 - some only register
from gamelane.claims.palazzi_voap.arms import averaged, check, figures

__all__ = ["SCENARIO", "check", "prefetch"]

SCENARIO = "palazzi-voap"


def prefetch(evidence: Evidence) -> None:
    """Run all arms in two parallel batches, because the arms of the figures have more seeds."""
    averaged(evidence).prepare(figures())
    evidence.prepare([arm for part in (law, outcome, thresholds, beyond) for arm in part.prefetched()])
