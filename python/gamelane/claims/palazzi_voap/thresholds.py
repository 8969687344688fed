"""How coarsely alpha and beta may be chosen."""

from __future__ import annotations

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, given
from gamelane.claims.palazzi_voap.arms import ALPHA, GOODPUT, check, queue_delay, regular, voap

COARSE = ((5, 15), (5, 7.5), (5, 10), (5, 30), (10, 15), (15, 15), (10, 30))
"""Alpha and beta in ms: the paper's, beta from half to twice its value, and alpha from "big enough" upwards."""
TOO_SMALL = ((2.5, 15), (2.5, 7.5), (1, 3))
LARGER = (10, 15)
LEAST_KEPT = 0.95


def prefetched() -> list[Arm]:
    """Return every arm of this file."""
    return [regular(), *(voap(alpha=alpha, beta=beta) for alpha, beta in (*COARSE, *TOO_SMALL))]


@check("coarse")
def coarse(evidence: Evidence, _: Claim) -> Finding:
    before = queue_delay(evidence, regular())
    goodput = evidence.values(regular(), GOODPUT)
    found, beyond = [], []
    for alpha, beta in (*COARSE, *TOO_SMALL):
        arm = voap(alpha=alpha, beta=beta)
        kept, after = evidence.values(arm, GOODPUT) / goodput, queue_delay(evidence, arm)
        shown = f"{alpha:g}/{beta:g} ms: {kept.mean():.1%} of the throughput, {after.mean():.1f} ms"
        if (alpha, beta) in TOO_SMALL:
            beyond.append(shown)
        else:
            found.append(given(float(kept.mean()) >= LEAST_KEPT and bool(np.all(after < before / 2)), shown))
    return findings.all_of(
        *found,
        why=f"alpha/beta; {findings.number(before)} ms without VoAP. Alpha has to be big enough, as the paper says:"
        f" {'; '.join(beyond)}",
    )


@check("alpha-enough")
def alpha_is_enough(evidence: Evidence, _: Claim) -> Finding:
    own = evidence.values(voap(), GOODPUT)
    shares = {alpha: own / evidence.values(voap(alpha=alpha), GOODPUT) for alpha in LARGER}
    return findings.all_of(
        *(
            findings.near(share, 1, 10, f"of the throughput with alpha = {alpha} ms instead of {ALPHA}")
            for alpha, share in shares.items()
        )
    )
