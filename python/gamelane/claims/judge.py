"""Judging the claims of a paper: its scenario is run as often as the checks ask, and each claim gets a verdict."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from gamelane import experiment
from gamelane.claims import Claim, Paper, Verdict
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell


def judge(paper: Paper, *, repeats: int, threads: int, on_run: Callable[[], None]) -> list[Verdict]:
    """Return a verdict on each claim, in the order of the paper. `on_run` is called after every run, on any thread."""
    module = importlib.import_module(f"gamelane.claims.{paper.name}")
    base = experiment.load(module.SCENARIO).scenario
    evidence = Evidence(base, repeats=repeats, threads=threads, on_run=on_run)
    module.prefetch(evidence)
    return [_verdict(claim, module.CHECKS, evidence) for claim in paper.claims]


def _verdict(claim: Claim, checks: Mapping[str, Check], evidence: Evidence) -> Verdict:
    check = checks.get(claim.id)
    finding = cannot_tell("gamelane has no check for it yet") if check is None else check(evidence)
    return Verdict(claim.id, finding.verdict, claim.theirs, finding.ours, finding.why)


Check = Callable[[Evidence], Finding]
