"""burriss2006: the cause of the loss behind priority holds."""

from __future__ import annotations

import pytest

from gamelane import experiment
from gamelane.claims.burriss2006 import SCENARIO
from gamelane.claims.burriss2006.arms import (
    CELLS,
    REFERENCE_MODEM,
    loss,
    none,
    prioritised,
    received,
    streams,
    throughput,
)
from gamelane.claims.burriss2006.tables import _near
from gamelane.claims.evidence import Evidence


@pytest.fixture(scope="module")
def short() -> Evidence:
    """A tenth of the paper's ten minutes."""
    base = experiment.load(SCENARIO).scenario.with_overrides([("duration", "60s")])
    return Evidence(base, repeats=2, threads=2)


def test_near_is_a_share_or_a_factor() -> None:
    assert _near(130, 100, 0.30)
    assert not _near(131, 100, 0.30)
    assert _near(0.0, 0.027, 3)
    assert not _near(3.0, 10, 3)
    assert _near(29, 10, 3)


def test_two_streams_behind_priority_overrun_three_slots_and_one_does_not(short: Evidence) -> None:
    lost = {cell: float(loss(short, prioritised(cell)).max()) for cell in CELLS}
    assert lost["1t1u"] < 0.1
    assert lost["2t1u"] < 0.1
    assert 10 < lost["1t2u"] < 40
    assert 10 < lost["2t2u"] < 40


def test_strict_priority_itself_loses_nothing(short: Evidence) -> None:
    for cell in CELLS:
        arm = prioritised(cell).with_(REFERENCE_MODEM)
        assert (loss(short, arm) == 0).all(), cell


def test_without_priority_a_third_is_lost_and_with_it_the_bridge_has_192_kbit(short: Evidence) -> None:
    for cell in CELLS:
        assert (loss(short, none(cell)) > 20).all(), cell
    # 192 kbit/s less 23.8 of UDP, both on Ethernet, of which 1448 B in 1518 are TCP's.
    expected = (192 - 119 * 8 / 38.933) * 1448 / 1518
    assert throughput(short, prioritised("1t1u")) == pytest.approx(expected, rel=0.03)


def test_interarrival_is_of_the_udp_streams_alone(short: Evidence) -> None:
    found = streams(short, prioritised("2t1u"))
    assert found["mean"] == pytest.approx(38.93, abs=0.2)
    assert (received(short, prioritised("2t1u")) > 1500).all()
