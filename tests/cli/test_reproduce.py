"""`gamelane reproduce`: every claim of a paper gets a verdict."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from rich.console import Console

from gamelane.claims import Paper, Verdict
from gamelane.claims.judge import Judged
from gamelane.commands.reproduce import show

from .command import GAMELANE, computes, gamelane


def test_every_claim_gets_a_verdict(tmp_path: Path) -> None:
    done = gamelane("reproduce", "collom2016", "--repeat", "1", "--json", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 2
    assert list(document["papers"]) == ["collom2016"]  # griwodz2006 is in tests/claims, on a short replay
    for name, found in document["papers"].items():
        assert {claim["id"] for claim in found["claims"]} == {claim.id for claim in Paper.read(name).claims}
        assert sum(sum(kind.values()) for kind in found["counts"].values()) == len(found["claims"])
        for claim in found["claims"]:
            assert claim.keys() == {"id", "kind", "verdict", "theirs", "criterion", "ours", "why"}
            assert claim["verdict"] in {"reproduced", "holds"} or claim["why"] or claim["ours"], claim["id"]
    assert json.loads((tmp_path / "claims.json").read_text()) == document
    assert "results:" in (tmp_path / "collom2016.html").read_text()


def test_no_word_is_cut_in_80_columns() -> None:
    """Regression: six columns left ten characters for each, and longer words ended in an ellipsis."""
    paper = Paper.read("palazzi-voap")
    verdicts = tuple(Verdict(claim.id, "differs", "throughput(alpha=5)", "") for claim in paper.claims)
    for columns in (80, 160):
        text = io.StringIO()
        show([Judged(paper, verdicts)], Console(file=text, width=columns, markup=False))
        assert "…" not in text.getvalue()
        assert text.getvalue().count("throughput(alpha=5)") >= len(verdicts)
        assert max(map(len, text.getvalue().splitlines())) <= columns


@pytest.mark.parametrize("seconds", [0.0, 5.0], ids=["before its first run", "later"])
def test_ctrl_c_keeps_the_verdicts_that_are_done(tmp_path: Path, seconds: float) -> None:
    folder = tmp_path / "claims"
    command = [GAMELANE, "reproduce", "collom2016", "--repeat", "60", "--json", "-o", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not folder.exists():
            time.sleep(0.01)
        computes(process, seconds)
        process.send_signal(signal.SIGINT)
        stdout, said = process.communicate(timeout=240)
    assert process.returncode == 130, said
    assert "claims judged\ninterrupted\n" in said
    assert "Traceback" not in said
    (found,) = json.loads(stdout)["papers"].values()
    # Claims about players need no run at all.
    assert 10 <= len(found["claims"]) < found["planned_claims"]
    assert "Interrupted" in (folder / "collom2016.html").read_text()
