"""burriss2006: what the checks rest on is right by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gamelane.claims import Claim, Paper
from gamelane.claims.burriss2006 import check
from gamelane.claims.burriss2006.arms import (
    CELLS,
    UDP,
    Column,
    loss,
    none,
    one_prioritised,
    other_readings,
    prioritised,
    streams,
    table,
    tcp_arms,
    throughput,
)
from gamelane.claims.burriss2006.tables import _loss
from gamelane.claims.but2006.arms import THREE_SLOTS
from gamelane.claims.evidence import Evidence

from .short import evidence

CLAIMS = {claim.id.removeprefix("burriss2006."): claim for claim in Paper.read("burriss2006").claims}


@pytest.fixture(scope="module")
def short() -> Evidence:
    """A tenth of the paper's ten minutes."""
    return evidence("burriss2006")


def test_the_third_table_is_two_streams_of_one_run() -> None:
    plain, first = table("1t2u")
    assert plain.arm == first.arm == one_prioritised("1t2u")
    assert (plain.udp, first.udp) == (("game2",), ("game",))
    for cell in ("1t1u", "2t1u", "2t2u"):
        assert table(cell) == (Column(none(cell)), Column(prioritised(cell)))


def test_each_tcp_value_of_the_paper_has_its_run() -> None:
    for cell in CELLS:
        assert len(tcp_arms(cell)) == len(CLAIMS[f"{cell}.tcp"].theirs)
    assert tcp_arms("1t2u") == [none("1t2u"), one_prioritised("1t2u"), prioritised("1t2u")]


def test_one_stream_alone_has_priority(short: Evidence) -> None:
    plain, first = (streams(short, column) for column in table("1t2u"))
    assert (first["received"] > plain["received"]).all()
    both = streams(short, Column(one_prioritised("1t2u")))
    assert both["received"] == pytest.approx((plain["received"] + first["received"]) / 2)


def test_another_reading_is_another_run_or_stream() -> None:
    assert list(map(len, (other_readings(cell) for cell in CELLS))) == [0, 0, 3, 2]
    for cell in CELLS:
        pairs = [table(cell), *other_readings(cell).values()]
        assert len(set(pairs)) == len(pairs)


def test_two_streams_behind_priority_overrun_a_modem_of_one_packet_a_grant_and_one_does_not(short: Evidence) -> None:
    lost = {cell: float(loss(short, Column(prioritised(cell).with_(THREE_SLOTS))).max()) for cell in CELLS}
    assert lost["1t1u"] < 0.1
    assert lost["2t1u"] < 0.1
    assert 5 < lost["1t2u"] < 20
    assert 5 < lost["2t2u"] < 20


def test_strict_priority_itself_loses_nothing(short: Evidence) -> None:
    for cell in CELLS:
        assert (loss(short, Column(prioritised(cell))) == 0).all(), cell


def test_without_priority_a_third_is_lost_and_with_it_the_bridge_has_192_kbit(short: Evidence) -> None:
    for cell in CELLS:
        assert (loss(short, Column(none(cell))) > 20).all(), cell
    # 192 kbit/s less 24.5 of UDP, both on Ethernet, of which 1448 B in 1518 are TCP's.
    expected = (192 - 119 * 8 / 38.933) * 1448 / 1518
    assert throughput(short, prioritised("1t1u")) == pytest.approx(expected, rel=0.03)


def test_received_interarrival_and_loss_are_one_measurement(short: Evidence) -> None:
    for cell in CELLS:
        for column in table(cell):
            found = streams(short, Column(column.arm, ("game",)))
            sent = 60e3 / 38.933
            lost = loss(short, Column(column.arm, ("game",)))
            assert found["received"] == pytest.approx(sent * (1 - lost / 100), rel=0.01)
            assert found["ia"] == pytest.approx(60e3 / found["received"], rel=0.03)


def test_jitter_is_the_mean_over_all_packets(short: Evidence) -> None:
    """A prioritised packet waits 0 to 63 ms for a full packet. Two such waits differ by a third of that in the mean."""
    jitter = streams(short, Column(prioritised("1t1u")))["jitter"]
    assert (jitter > 20).all()
    assert (jitter < 32).all()
    assert np.ptp(jitter) < 0.5


@pytest.mark.parametrize(
    ("ours", "theirs", "outcome"),
    [
        ([30, 30.1], 35, "reproduced"),
        ([20, 20.1], 35, "differs"),
        ([0, 0.01], 0.027, "reproduced"),
        ([2, 2.01], 0.027, "differs"),
        ([50, 50.1], 40.2, "differs"),  # within 30 % of the loss, but a sixth less arrives
        ([20, 40], 35, "cannot-tell"),
    ],
)
def test_a_loss_is_judged_by_itself_and_by_what_arrives(ours: list[float], theirs: float, outcome: str) -> None:
    assert _loss(np.array(ours), theirs, CLAIMS["1t1u.loss"]).outcome == outcome


def test_a_row_that_contradicts_another_differs(short: Evidence) -> None:
    def outcome(claim: Claim) -> str:
        return check.checks[claim.id](short, claim).outcome

    right = CLAIMS["1t1u.ia"]
    assert outcome(right) == "reproduced"
    assert outcome(replace(right, theirs=[60.133, 45])) == "differs"
    assert outcome(CLAIMS["2t1u.ia"]) == "differs"  # 600 s / 6174 are 97.2 ms; the slides say 92.135


def test_an_input_differs_if_the_paper_has_another(short: Evidence) -> None:
    claim = CLAIMS["up-model"]
    judge = check.checks[claim.id]
    assert judge(short, claim).outcome == "reproduced"
    for key in claim.theirs:
        assert judge(short, replace(claim, theirs={**claim.theirs, key: 74})).outcome == "differs"


def test_priority_names_every_udp_stream(short: Evidence) -> None:
    assert tuple(short.document()["gateway"]["priority"]) == UDP
