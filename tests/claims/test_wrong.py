"""Each check fails if the paper's figures or our results are wrong, and says by which rule it judges."""

from __future__ import annotations

import string
import warnings

import numpy as np
import pytest

from gamelane.claims import KINDS, PAPERS, Claim, Paper
from gamelane.claims.evidence import Evidence
from gamelane.claims.judge import package
from gamelane.claims.register import Check

from .short import evidence
from .worlds import Wrong, worlds

CLAIMS = [claim for name in PAPERS for claim in Paper.read(name).claims]


def _paper(claim: Claim) -> str:
    return claim.id.split(".", 1)[0]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_wrong_value_fails(claim: Claim) -> None:
    check = package(_paper(claim)).check.checks[claim.id]
    right = evidence(_paper(claim))
    if check(right, claim).ours is None:
        pytest.skip("no run decides this claim")
    if claim.kind == "further":
        pytest.skip("the paper asks here and says nothing that can be wrong")
    assert any(_refuted(check, Wrong(right, world), world.claim(claim)) for world in worlds())


def _refuted(check: Check, evidence: Evidence, claim: Claim) -> bool:
    """Return whether the check says no. In a senseless world it may also find no value to judge; that is no answer."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return check(evidence, claim).outcome == "differs"
        except (ArithmeticError, LookupError, StopIteration, ValueError):
            return False


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_the_rule_shows_every_limit(claim: Claim) -> None:
    assert claim.kind in KINDS
    shown = {name for _, name, _, _ in string.Formatter().parse(claim.criterion) if name is not None}
    assert shown == set(claim.limits)
    assert claim.rule or claim.kind in {"further", "opinion"}


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_has_a_check_and_every_check_a_claim(name: str) -> None:
    claims = Paper.read(name).claims
    assert len({claim.id for claim in claims}) == len(claims)
    assert {claim.id for claim in claims} == set(package(name).check.checks)
