"""Signals that come while something is cleared up."""

from __future__ import annotations

import importlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamelane.interrupts import SIGNALS, leave_to_program, raised, uninterrupted
from gamelane.terminal.stopping import stopping


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _clear_up(*signals: signal.Signals) -> list[str]:
    done = ["begun"]
    with uninterrupted():
        for number in signals:
            signal.raise_signal(number)
        done.append("ended")
    done.append("left")
    return done


def test_one_signal_is_handled_after_the_block() -> None:
    with raised() as ctrl_c:
        with pytest.raises(KeyboardInterrupt):
            _clear_up(signal.SIGINT)
        assert ctrl_c.heard


def test_a_second_ctrl_c_ends_the_block() -> None:
    done: list[str] = []

    def twice() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("heard one")
            signal.raise_signal(signal.SIGINT)
            done.append("heard two")

    with raised(), pytest.raises(KeyboardInterrupt):
        twice()
    assert done == ["heard one"]


def test_ctrl_c_lets_an_import_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars imports modules from Rust, and panics if one of them is interrupted."""
    (tmp_path / "slow_to_import.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nFINISHED = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    finished: list[bool] = []

    def import_and_go_on() -> None:
        finished.append(importlib.import_module("slow_to_import").FINISHED)
        time.sleep(10)

    with raised() as ctrl_c, pytest.raises(KeyboardInterrupt):
        import_and_go_on()
    assert ctrl_c.heard
    assert finished == [True]
    assert "slow_to_import" in sys.modules


@pytest.mark.parametrize("asked", [False, True])
def test_signals_that_come_twice_do_not_end_a_recording_that_stops(asked: bool) -> None:
    """`timeout` sends SIGTERM to the command and to its group, and a shell hands on SIGHUP."""
    with stopping() as stop:
        if asked:
            signal.raise_signal(signal.SIGTERM)
        assert _clear_up(signal.SIGTERM, signal.SIGHUP, signal.SIGTERM) == ["begun", "ended", "left"]
        assert stop.asked


def test_a_program_that_the_process_becomes_gets_the_signals() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with raised():
        leave_to_program()
        handled = {number: signal.getsignal(number) for number in SIGNALS}
    assert handled == {signal.SIGINT: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_IGN}
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_ctrl_c_during_an_import_ends_the_process_before_it_becomes_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the end of the import. After `exec`, nobody would handle it."""
    (tmp_path / "another_to_import.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def begin() -> None:
        importlib.import_module("another_to_import")
        leave_to_program()

    with raised(), pytest.raises(KeyboardInterrupt):
        begin()
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
