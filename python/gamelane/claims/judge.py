"""Judges the claims of a paper: runs its scenario as often as the checks ask, and gives each claim a verdict."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from gamelane import experiment
from gamelane.claims import KINDS, Claim, Judgement, Paper, Verdict
from gamelane.claims.evidence import Evidence, Unfinished
from gamelane.claims.findings import Finding
from gamelane.claims.register import Check

Rows = list[tuple[Claim, Verdict]]
"""Claims with their verdicts."""


@dataclass(frozen=True)
class Judged:
    """The verdicts on a paper in its order, and the runs behind them. After Ctrl-C: what the finished runs decide."""

    paper: Paper
    verdicts: tuple[Verdict, ...]
    interrupted: bool = False
    evidence: Evidence | None = None

    @property
    def rows(self) -> Rows:
        """Return each claim that has a verdict, with its verdict: by kind, each kind in the paper's order."""
        claims = {claim.id: claim for claim in self.paper.claims}
        rows = [(claims[verdict.id], verdict) for verdict in self.verdicts]
        return sorted(rows, key=lambda row: list(KINDS).index(row[0].kind))


def package(paper: str) -> ModuleType:
    """Return the package of a paper: its `SCENARIO`, `check` and `prefetch`."""
    return importlib.import_module(f"gamelane.claims.{paper.replace('-', '_')}")


def judge(paper: Paper, *, repeats: int, threads: int, on_run: Callable[[], None]) -> Judged:
    """Return a verdict on each claim. `on_run` is called after every run, on any thread."""
    module = package(paper.name)
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
            verdicts.append(verdict(claim, module.check.checks[claim.id], evidence))
        except Unfinished:
            continue
        except KeyboardInterrupt:
            interrupted = True
            evidence.stop()
    return Judged(paper, tuple(verdicts), interrupted, evidence)


def verdict(claim: Claim, check: Check, evidence: Evidence) -> Verdict:
    """Return the verdict of `check` on `claim`, in the word for its kind."""
    finding = check(evidence, claim)
    return Verdict(claim.id, _word(claim, finding), finding.ours, finding.why)


def _word(claim: Claim, finding: Finding) -> Judgement:
    match claim.kind, finding.outcome:
        case _, "cannot-tell":
            return "cannot-tell"
        case "further", _:
            return "answered"
        case "result", "reproduced":
            return "reproduced"
        case _, "reproduced":
            return "holds"
        case _:
            return "differs"
