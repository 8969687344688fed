"""Judging a paper that is stopped half-way: what the finished runs decide is kept, the rest is left out."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gamelane import Experiment, experiment
from gamelane.claims import PAPERS, Claim, Paper, Verdict
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, cannot_tell, given
from gamelane.claims.judge import Judged, judge
from gamelane.claims.register import Check, Register
from gamelane.report.claims import write_overview, write_paper
from gamelane.report.papers import figures

FIRST, SECOND = Arm.of({"link.rtt": "20ms"}), Arm.of({"link.rtt": "60ms"})


def _claim(name: str) -> Claim:
    return Claim(f"stopped.{name}", "1", "result", "rtt", "", "")


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_is_a_line_and_a_list_of_claims(name: str) -> None:
    module = importlib.import_module(f"gamelane.claims.{name.replace('-', '_')}")
    assert all(claim.id.startswith(f"{name}.") for claim in Paper.read(name).claims)
    assert experiment.load(module.SCENARIO).scenario.duration_s > 0


def test_a_page_over_all_papers_and_one_for_each(tmp_path: Path) -> None:
    judged = [
        Judged(paper, tuple(Verdict(claim.id, "reproduced", "ours", "") for claim in paper.claims))
        for paper in map(Paper.read, PAPERS)
    ]
    write_overview(tmp_path / "claims.html", judged, 5)
    overview = (tmp_path / "claims.html").read_text()
    assert "5 papers" in overview
    for each in judged:
        assert f'href="{each.paper.name}.html"' in overview
        results = sum(claim.kind == "result" for claim in each.paper.claims)
        assert f"<td>{results} reproduced</td>" in overview
        write_paper(tmp_path / f"{each.paper.name}.html", each, figures(each), 5)
        page = (tmp_path / f"{each.paper.name}.html").read_text()
        assert page.count('class="reproduced ') == len(each.paper.claims)
        assert f"{results} results: {results} reproduced." in page


def test_verdicts_of_finished_runs_are_kept(short: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(arm: Arm) -> Check:
        def check(evidence: Evidence, _: Claim) -> Finding:
            values = evidence.values(arm, "flows.quake3.rtt_ms.p50")
            return given(bool((values > 0).all()), values.tolist())

        return check

    def second_batch_is_interrupted(evidence: Evidence) -> None:
        evidence.prepare([FIRST])

        def interrupted(*_: object, **__: object) -> object:
            raise KeyboardInterrupt

        evidence._run = interrupted  # type: ignore[method-assign, assignment]
        evidence.prepare([SECOND])

    checks = Register("stopped")
    checks("first")(of(FIRST))
    checks("second")(of(SECOND))
    checks("players")(lambda *_: cannot_tell("there are no players here"))
    paper = ModuleType("gamelane.claims.stopped")
    vars(paper).update(
        SCENARIO="short",
        prefetch=second_batch_is_interrupted,
        check=checks,
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
