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
    PRIORITY,
    THREE_SLOTS,
    TWO_TRANSFERS,
    UNSHAPED,
    UPLOAD,
    ack_delay,
    game_delay,
    game_loss,
    throughput,
)
from gamelane.claims.but2006.inputs import PROTOCOLS
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


def test_a_modem_of_three_slots_and_one_packet_a_grant_loses_the_game_and_stops_the_upload(short: Evidence) -> None:
    for arm in (FIFO, PRIORITY):
        assert (game_loss(short, arm.with_(THREE_SLOTS)) > 20).all()
        assert (throughput(short, arm.with_(THREE_SLOTS), UPLOAD) < throughput(short, arm, UPLOAD) / 3).all()


def test_the_modem_of_burriss2006_changes_nothing_behind_the_bridge(short: Evidence) -> None:
    for arm in (FIFO, PRIORITY, ACKS_FIRST):
        same = arm.with_({"gateway.modem.limit": "5p"})
        for measure in (game_loss, game_delay):
            assert measure(short, same) == pytest.approx(measure(short, arm))
        for flow in (UPLOAD, DOWNLOAD):
            assert throughput(short, same, flow) == pytest.approx(throughput(short, arm, flow))


def test_a_burst_of_four_is_250_ms_and_one_packet_62(short: Evidence) -> None:
    own = burst(short)
    assert waits(own, FIFO_BURST)[0] == pytest.approx([250, 250], abs=1)
    first, second, third = waits(own, PRIORITY_BURST)
    assert first == pytest.approx([62.5, 62.5], abs=1)
    assert (first < second).all()
    assert (second < third).all()


def test_a_capture_behind_the_queue_sees_the_downloads_wait_and_not_the_uploads(short: Evidence) -> None:
    up, down = (passive_round_trip(short, PRIORITY, flow) for flow in (UPLOAD, DOWNLOAD))
    assert (up < 50).all()
    assert (down > 500).all()


def test_the_delay_of_acks_is_in_the_direction_opposite_to_the_data(short: Evidence) -> None:
    for flow, way in ((DOWNLOAD, "up"), (UPLOAD, "down")):
        sent = short.values(TWO_TRANSFERS, f"flows.{flow}.{way}.sent_bytes")
        assert (sent < short.values(TWO_TRANSFERS, f"flows.{flow}.{_opposite(way)}.sent_bytes") / 10).all()
    assert (ack_delay(short, TWO_TRANSFERS, DOWNLOAD) > 1000).all()
    assert (ack_delay(short, TWO_TRANSFERS, UPLOAD) < 1).all()


def _opposite(way: str) -> str:
    return "down" if way == "up" else "up"


def test_without_a_drop_the_uploads_round_trip_is_the_same_with_fifo(short: Evidence) -> None:
    in_bytes = FIFO.with_({"gateway.up.limit": "64KiB"})
    assert (short.values(in_bytes, "flows.upload.up.lost") == 0).all()
    assert passive_round_trip(short, in_bytes, UPLOAD) == pytest.approx(
        passive_round_trip(short, PRIORITY, UPLOAD), abs=0.1
    )
    assert (passive_round_trip(short, FIFO, UPLOAD) > 10).all()


def test_the_scenario_has_only_flows_whose_protocol_is_known(short: Evidence) -> None:
    assert {flow["app"] for flow in short.document()["flow"]} == set(PROTOCOLS)


def test_the_hosts_are_freebsd_by_name(short: Evidence) -> None:
    tcp = short.document()["tcp"]
    assert tcp == {"stack": "freebsd-10", "initial_window": "rfc5681", "receive_window": "32KiB"}
