"""What is repeated on a busy machine, and what is not."""

from __future__ import annotations

import time

import pytest

from tests import real_time
from tests.real_time import LateError, Patience, Watch, in_time, repeat


@pytest.mark.parametrize(("disturbed", "attempts"), [([], 3), ([True], 4), ([True, False, True], 5)])
def test_a_failure_counts_unless_the_machine_was_disturbed(
    monkeypatch: pytest.MonkeyPatch, disturbed: list[bool], attempts: int
) -> None:
    states = iter(disturbed)
    monkeypatch.setattr(Watch, "disturbed", property(lambda _: next(states, False)))
    said: list[str] = []
    with pytest.raises(LateError, match=r"^11 ms \(.* naps late; idle .* %, .*\)$"):
        repeat(lambda: in_time(holds=False, seen="11 ms"), said.append)
    assert len(said) == attempts - 1


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts on a disturbed machine count once its time is used up."""
    monkeypatch.setattr(real_time, "PATIENCE", Patience(left_s=1e-6))
    monkeypatch.setattr(Watch, "disturbed", True)
    said: list[str] = []
    with pytest.raises(LateError, match="late"):
        repeat(lambda: in_time(holds=False, seen="late"), said.append)
    assert len(said) == 3


def test_another_assertion_fails_at_once() -> None:
    said: list[str] = []

    def wrong() -> None:
        raise AssertionError

    with pytest.raises(AssertionError):
        repeat(wrong, said.append)
    assert not said


def test_late_naps_tell_a_disturbed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with Watch() as machine:
        time.sleep(2 * real_time.SHORTEST_S)
        monkeypatch.setattr(real_time, "LATE_S", -1.0)  # from now on every nap is late
        time.sleep(2 * real_time.SHORTEST_S)
    assert machine.disturbed


def test_processors_that_others_took_tell_a_disturbed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for stolen, disturbed in ((2, False), (7, True)):
        ticks = iter([{"idle": 0, "steal": 0}, {"idle": 100 - stolen, "steal": stolen}])
        monkeypatch.setattr(real_time, "_ticks", lambda ticks=ticks: next(ticks))
        monkeypatch.setattr(real_time, "MOST_LATE", 1.0)
        with Watch() as machine:
            time.sleep(2 * real_time.SHORTEST_S)
        assert machine.disturbed is disturbed
