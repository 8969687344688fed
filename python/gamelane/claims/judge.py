"""Judges the claims of a paper: runs its scenario as often as the checks ask, and gives each claim a verdict."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gamelane import experiment
from gamelane.claims import Claim, Paper, Verdict
from gamelane.claims.evidence import Evidence, Unfinished
from gamelane.claims.findings import Finding, cannot_tell


@dataclass(frozen=True)
class Judged:
    """The verdicts on a paper, in the paper's order. After Ctrl-C: only those that the finished runs decide."""

    paper: Paper
    verdicts: tuple[Verdict, ...]
    interrupted: bool = False

    @property
    def rows(self) -> list[tuple[Claim, Verdict]]:
        """Return each claim that has a verdict, with its verdict."""
        claims = {claim.id: claim for claim in self.paper.claims}
        return [(claims[verdict.id], verdict) for verdict in self.verdicts]


def judge(paper: Paper, *, repeats: int, threads: int, on_run: Callable[[], None]) -> Judged:
    """Return a verdict on each claim. `on_run` is called after every run, on any thread."""
    module = importlib.import_module(f"gamelane.claims.{paper.name.replace('-', '_')}")
    base = experiment.load(module.SCENARIO).scenario
    evidence = Evidence(base, repeats=repeats, threads=threads, on_run=on_run)
    interrupted = False
    try:
        module.prefetch(evidence)
    except KeyboardInterrupt:
        interrupted = True
        evidence.stop()
    verdicts = []
    for claim in paper.claims:
        try:
            verdicts.append(_verdict(claim, module.CHECKS, evidence))
        except Unfinished:
            continue
        except KeyboardInterrupt:
            interrupted = True
            evidence.stop()
    return Judged(paper, tuple(verdicts), interrupted)


def _verdict(claim: Claim, checks: Mapping[str, Check], evidence: Evidence) -> Verdict:
    check = checks.get(claim.id)
    finding = cannot_tell("gamelane has no check for this claim yet") if check is None else check(evidence)
    return Verdict(claim.id, finding.verdict, claim.theirs, finding.ours, finding.why)


Check = Callable[[Evidence], Finding]
