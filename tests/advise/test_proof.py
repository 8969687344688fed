"""A measurement beside an earlier one and its advice: what is compared, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gamelane.advise.measured import Measured
from gamelane.advise.promised import Promised
from gamelane.analysis.line import PHASES, Phase, Way
from gamelane.report import proof


def _phases(names: Sequence[str], loaded_ms: float) -> list[Phase]:
    way = Way(100, 0, 0, None, None)
    trips = {name: 10 if name == "idle" else loaded_ms for name in names}
    return [
        Phase(name, 0, 9, 0, None, dict.fromkeys(("mean", "p50", "p95", "p99", "jitter"), float(ms)), way, way)
        for name, ms in trips.items()
    ]


def _proof(after: Sequence[Phase], before: Sequence[str] = PHASES) -> proof.Proof:
    earlier = Measured("198.51.100.7", _phases(before, 215), 205, "D")
    return proof.Proof(earlier, Promised("Set it.", _phases(PHASES, 25.4)), after)


@pytest.mark.parametrize("measured", [["idle"], ["idle", "up"], ["idle", "up", "down"]])
def test_a_part_of_the_phases_keeps_no_promise(measured: list[str]) -> None:
    """Regression: 215 -> 0.02 ms without the worst phase, and the promise was kept."""
    found = _proof(_phases(measured, 0.02))
    said = proof.headline(found)
    assert found.keeps_promise is None
    assert "The advice promised" not in said
    assert all(name in said for name in PHASES[1:] if name not in measured), said


def test_only_phases_of_both_are_compared() -> None:
    before = [*_phases(("idle", "up"), 50), *_phases(("both",), 300)]
    found = proof.Proof(Measured("a", before, 290, "D"), None, _phases(("idle", "up"), 20))
    assert (found.worst_ms, found.missing) == ({"before": 50, "after": 20}, ["both"])


@pytest.mark.parametrize(("ms", "kept"), [(25.0, True), (40.0, False)])
def test_all_phases_are_judged(ms: float, kept: bool) -> None:
    assert _proof(_phases(PHASES, ms)).keeps_promise is kept


def test_a_phase_that_was_stopped_counts_as_missing() -> None:
    stopped = Measured("a", _phases(PHASES, 0.1), 0.0, "A+", stopped=True)
    assert [phase.name for phase in stopped.whole] == ["idle", "up", "down"]


def test_the_page_does_not_read_as_new_advice(tmp_path: Path) -> None:
    page = proof.write_page(tmp_path, _proof(_phases(PHASES, 25.0))).read_text(encoding="utf-8")
    assert "The advice was: Set it." in page
    assert "Before and after" in page
    assert "What to expect" not in page
