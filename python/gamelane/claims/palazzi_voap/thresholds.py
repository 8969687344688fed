"""How coarsely alpha and beta may be chosen."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding
from gamelane.claims.palazzi_voap.arms import (
    GOODPUT,
    check,
    labelled,
    queue_delay,
    regular,
    thresholds,
    voap,
    with_thresholds,
)

COARSE = ((5, 7.5), (5, 10), (5, 15), (5, 30), (10, 15), (15, 15), (10, 30))
"""Alpha and beta in ms: beta from half to twice the paper's, and alpha from the paper's upwards."""
TOO_SMALL = ((2.5, 15), (2.5, 7.5), (1, 3))
LARGER_MS = (10, 15)


def prefetched() -> list[Arm]:
    """Return every arm of this file."""
    return [regular(), voap(), *(with_thresholds(*pair) for pair in (*COARSE, *TOO_SMALL))]


@check("coarse")
def coarse(evidence: Evidence, claim: Claim) -> Finding:
    before, goodput = queue_delay(evidence, regular()), evidence.values(regular(), GOODPUT)

    def one(alpha: float, beta: float) -> Finding:
        arm = with_thresholds(alpha, beta)
        kept, shorter = evidence.values(arm, GOODPUT) / goodput, before / queue_delay(evidence, arm)
        both = (
            findings.above(100 * kept, claim.limits["percent"], "% of the goodput"),
            findings.above(shorter, claim.limits["times"], "times shorter"),
        )
        found = findings.all_of(*both)
        return labelled(
            f"{alpha:g}/{beta:g} ms", Finding(found.outcome, ", ".join(str(each.ours) for each in both), found.why)
        )

    return findings.all_of(
        *(one(*pair) for pair in COARSE),
        why="alpha/beta. The paper says that alpha has to be big enough, so a smaller one is not judged: "
        + "; ".join(str(one(*pair).ours) for pair in TOO_SMALL),
    )


@check("alpha-enough")
def alpha_is_enough(evidence: Evidence, claim: Claim) -> Finding:
    _, beta = thresholds(evidence, voap())
    own = evidence.values(with_thresholds(claim.theirs, beta), GOODPUT)

    def one(alpha: float) -> Finding:
        share = 100 * own / evidence.values(with_thresholds(alpha, beta), GOODPUT)
        return findings.near(share, 100, claim.limits["percent"], f"% of the throughput with alpha = {alpha} ms")

    return findings.all_of(*map(one, LARGER_MS))
