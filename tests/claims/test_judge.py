"""Judging a paper that is stopped half-way: what the finished runs decide is kept, the rest is left out."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from gamelane import Experiment, experiment
from gamelane.claims import Claim, Paper
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, cannot_tell, given
from gamelane.claims.judge import judge

FIRST, SECOND = Arm.of({"link.rtt": "20ms"}), Arm.of({"link.rtt": "60ms"})


def _claim(name: str) -> Claim:
    return Claim(f"stopped.{name}", "1", "ordinal", "rtt", "", "")


def test_verdicts_of_finished_runs_are_kept(short: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(arm: Arm) -> object:
        def check(evidence: Evidence) -> Finding:
            values = evidence.values(arm, "flows.quake3.rtt_ms.p50")
            return given(bool((values > 0).all()), values.tolist())

        return check

    def second_batch_is_interrupted(evidence: Evidence) -> None:
        evidence.prepare([FIRST])

        def interrupted(*_: object, **__: object) -> object:
            raise KeyboardInterrupt

        evidence._run = interrupted  # type: ignore[method-assign, assignment]
        evidence.prepare([SECOND])

    paper = ModuleType("gamelane.claims.stopped")
    vars(paper).update(
        SCENARIO="short",
        prefetch=second_batch_is_interrupted,
        CHECKS={
            "stopped.first": of(FIRST),
            "stopped.second": of(SECOND),
            "stopped.players": lambda _: cannot_tell("there are no players here"),
        },
    )
    monkeypatch.setitem(sys.modules, paper.__name__, paper)
    monkeypatch.setattr(experiment, "load", lambda _: short)
    claims = tuple(_claim(name) for name in ("first", "second", "players"))
    judged = judge(Paper("stopped", "", claims), repeats=2, threads=2, on_run=lambda: None)
    assert judged.interrupted
    assert [verdict.id for verdict in judged.verdicts] == ["stopped.first", "stopped.players"]
    assert [claim.id for claim, _ in judged.rows] == ["stopped.first", "stopped.players"]
    first = short.with_({"link.rtt": "20ms"}).run(seeds=2)
    assert judged.verdicts[0].ours == [run.summary["flows"]["quake3"]["rtt_ms"]["p50"] for run in first.runs]
