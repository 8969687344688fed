"""collom2016: what the checks rest on is right by itself."""

from __future__ import annotations

import numpy as np
import pytest

from gamelane.claims import Claim
from gamelane.claims.collom2016.arms import (
    GAME,
    RTT_MAX,
    UPLOAD,
    bulk_only,
    every_game_and_rtt,
    limit_packets,
    lost,
    near_above_base,
    paper,
    small_window,
)
from gamelane.claims.collom2016.uplink import Uplink, lost_in_a_row
from gamelane.claims.evidence import Arm, Evidence

from .short import evidence


@pytest.fixture(scope="module")
def short() -> Evidence:
    return evidence("collom2016")


def _uplink(short: Evidence, arm: Arm) -> Uplink:
    found: Uplink = short.derived(arm, "test", Uplink.of)[0]
    return found


def test_a_small_queue_is_read_by_hand() -> None:
    """The game sends every 10 ms. Its packet of 20 ms is missing and was dropped after 5 ms."""
    entered = np.array([0.0, 0.005, 0.01, 0.03, 0.04])
    waits = np.array([0.0, 0.010, 0.001, 0.0, 0.0])
    flow = np.array([GAME, UPLOAD, GAME, GAME, GAME])
    own = Uplink(entered, entered + waits, flow, np.array([0.025]), np.array([GAME]))
    assert own.overtakings() == 1
    assert own.overtakings(GAME) == 0
    assert own.waiting(np.array([0.0, 0.007, 0.0105, 0.02])).tolist() == [0, 1, 2, 0]
    assert own.waits_before_drop_ms() == pytest.approx([5])
    assert own.drops_at_a_leaving() == 0
    at_the_head = Uplink(entered, entered + waits, flow, np.array([0.015]), np.array([UPLOAD]))
    assert at_the_head.drops_at_a_leaving() == 100


def test_a_fifo_keeps_the_order_and_is_full_at_every_drop(short: Evidence) -> None:
    fifo = _uplink(short, paper("fifo"))
    assert fifo.overtakings() == 0
    assert len(fifo.drops) > 20
    assert set(fifo.waiting(fifo.drops)) == {limit_packets(short, paper("fifo"))}


def test_flow_queues_let_the_game_overtake_and_nothing_else(short: Evidence) -> None:
    for queue in ("fq_codel", "fq_pie"):
        uplink = _uplink(short, paper(queue))
        assert uplink.overtakings(GAME, UPLOAD) > 100
        assert uplink.overtakings(GAME) == uplink.overtakings(UPLOAD) == 0


def test_pie_drops_at_the_tail_and_codel_at_the_head(short: Evidence) -> None:
    pie, codel = (_uplink(short, paper(queue)) for queue in ("pie", "codel"))
    assert pie.waits_before_drop_ms() == pytest.approx(0, abs=1e-3)
    assert pie.drops_at_a_leaving() < 2
    assert (codel.waits_before_drop_ms() > 5).all()
    assert codel.drops_at_a_leaving() == 100


def test_losses_in_a_row_are_all_of_the_clients_losses(short: Evidence) -> None:
    for queue in ("fifo", "pie"):
        share, again, seconds = short.derived(paper(queue), "bursts", lost_in_a_row)[0]
        counted = short.values(paper(queue), f"flows.{GAME}.up.loss")[0]
        assert share == pytest.approx(100 * counted, abs=0.1)
        assert again > share
        assert 0 < seconds < 100


def test_a_peak_is_compared_above_the_base(short: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: 56 ms agreed with 75 within 30 %, though it is 16 above the base of 40 and theirs is 35."""
    claim = Claim("", "", "result", "", 75, "", {"percent": 30})
    for ours, outcome in ((56, "differs"), (65, "reproduced"), (85, "reproduced"), (86, "differs")):
        monkeypatch.setattr(short, "values", lambda *_, ours=ours: np.array([ours, ours], dtype=float))
        assert near_above_base(short, claim, paper("fq_pie"), RTT_MAX).outcome == outcome


def test_figure_19_is_seven_games_at_eight_round_trips() -> None:
    assert len(set(every_game_and_rtt("fq_codel"))) == 7 * 8


def test_a_window_of_64_kib_loses_nothing_beside_the_upload(short: Evidence) -> None:
    assert (lost(short, bulk_only("fifo")) > 0).all()
    assert not lost(short, small_window(bulk_only("fifo"))).any()
