"""but2006: what they rest on holds on a short run."""

from __future__ import annotations

import pytest

from gamelane import experiment
from gamelane.claims.but2006 import SCENARIO
from gamelane.claims.but2006.arithmetic import FIFO_BURST, PRIORITY_BURST, burst, waits
from gamelane.claims.but2006.arms import (
    ACKS_FIRST,
    DOWNLOAD,
    DOWNLOAD_ALONE,
    FIFO,
    FIFO_QUEUE,
    IN_THE_MODEM,
    MODEM_1_0,
    PRIORITY,
    UNSHAPED,
    UPLOAD,
    game_delay,
    game_loss,
    throughput,
)
from gamelane.claims.but2006.passive import passive_round_trip
from gamelane.claims.evidence import Evidence


@pytest.fixture(scope="module")
def short() -> Evidence:
    """A fifth of the paper's ten minutes."""
    base = experiment.load(SCENARIO).scenario.with_overrides([("duration", "120s")])
    return Evidence(base, repeats=2, threads=2)


def test_the_game_gains_and_the_download_pays(short: Evidence) -> None:
    assert (game_loss(short, FIFO) > 0.5).all()
    assert (game_loss(short, PRIORITY) == 0).all()
    assert (game_delay(short, PRIORITY) < game_delay(short, FIFO) / 10).all()
    assert (throughput(short, PRIORITY, UPLOAD) > 0.9 * throughput(short, FIFO, UPLOAD)).all()
    assert (throughput(short, PRIORITY, DOWNLOAD) < 0.8 * throughput(short, FIFO, DOWNLOAD)).all()
    assert (throughput(short, ACKS_FIRST, DOWNLOAD) > 0.9 * throughput(short, DOWNLOAD_ALONE, DOWNLOAD)).all()


def test_an_unshaped_bridge_changes_nothing(short: Evidence) -> None:
    fifo, first = (game_delay(short, arm) for arm in (UNSHAPED.with_(FIFO_QUEUE), UNSHAPED))
    assert first == pytest.approx(fifo, rel=0.05)
    assert (first > 500).all()


def test_priority_in_the_modem_needs_no_shaper(short: Evidence) -> None:
    assert (game_delay(short, IN_THE_MODEM) < game_delay(short, PRIORITY)).all()


def test_a_modem_of_three_slots_loses_rows_of_small_packets(short: Evidence) -> None:
    before, after = (game_loss(short, arm.with_(MODEM_1_0)) for arm in (FIFO, PRIORITY))
    assert (before > 20).all()
    assert (after < 0.5).all()
    assert (game_delay(short, FIFO.with_(MODEM_1_0)) > 700).all()


def test_a_burst_of_four_is_250_ms_and_one_packet_62(short: Evidence) -> None:
    own = burst(short)
    assert waits(own, FIFO_BURST)[0] == pytest.approx(250, abs=1)
    assert waits(own, PRIORITY_BURST)[0] == pytest.approx(62.5, abs=1)


def test_a_capture_behind_the_queue_sees_the_downloads_wait_and_not_the_uploads(short: Evidence) -> None:
    up, down = (passive_round_trip(short, PRIORITY, flow) for flow in (UPLOAD, DOWNLOAD))
    assert (up < 50).all()
    assert (down > 500).all()
