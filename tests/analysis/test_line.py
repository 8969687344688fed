"""Figures of a measured line from records that are known."""

from __future__ import annotations

import numpy as np
import pytest

from gamelane.analysis import line

START = 10**12


def _records(*rows: tuple[int, int, int, int, int, float, int]) -> line.Records:
    """Make records of what, direction, flow, payload, number, time in s, and value."""
    made = np.zeros(len(rows), line.RECORD)
    for record, (what, direction, flow, payload, number, at, value) in zip(made, rows, strict=True):
        for key, of in (("what", what), ("direction", direction), ("flow", flow), ("payload", payload)):
            record[key] = of
        record["number"], record["at"], record["value"] = number, START + int(at * 1e9), value
    return made


def _two_phases(trip_ms: float) -> list[line.Phase]:
    """Idle for 2 s with trips of 10 ms, then an upload of 1 Mbit/s for 2 s; packet 35 is lost, packet 31 overtakes."""
    numbers = range(40)
    client = [(line.SENT, 0, 0, 100, n, n / 10, 0) for n in numbers]
    client += [(line.ROUND_TRIP, 0, 0, 0, n, n / 10, int(1e6 * (10 if n < 20 else trip_ms))) for n in numbers]
    client += [(line.RECEIVED, 1, 0, 100, n, n / 10, 4_000_000) for n in numbers]
    order = [*range(30), 31, 30, *range(32, 35), *range(36, 40)]
    server = [(line.RECEIVED, 0, 0, 100, n, place / 10 + 0.006, 6_000_000) for place, n in enumerate(order)]
    server += [(line.RECEIVED, 0, 2, 12_500, n, 2 + n / 10, -1 % 2**64) for n in range(20)]
    server += [(line.SENT, 1, 0, 100, n, n / 10, 0) for n in numbers]
    return line.phases(_records(*client), _records(*server), [("idle", 0, 2), ("up", 2, 4)])


def test_each_phase_has_its_own_figures() -> None:
    idle, up = _two_phases(110)
    assert idle.rtt_ms is not None
    assert up.rtt_ms is not None
    assert (idle.rtt_ms["p50"], up.rtt_ms["p95"]) == (10, 110)
    assert (idle.up.sent, idle.up.lost, idle.up.reordered, idle.up.mbps) == (20, 0, 0, None)
    assert (up.up.sent, up.up.lost, up.up.reordered) == (14, 1, 1)
    assert up.up.mbps == pytest.approx(1.0)
    assert up.down.mbps is None
    assert up.loss_percent == pytest.approx(100 / 14)
    assert up.up.one_way_ms is not None
    assert (up.up.one_way_ms["p50"], up.down.one_way_ms) == (6, {"p50": 4, "p95": 4, "p99": 4})


def test_the_start_of_a_load_is_left_out_but_its_longest_trip_is_kept() -> None:
    trips = [(line.ROUND_TRIP, 0, 0, 0, n, n / 10, int(1e6 * (200 if 100 <= n < 120 else 30))) for n in range(200)]
    idle, up = line.phases(_records(*trips), None, [("idle", 0, 10), ("up", 10, 20)])
    assert (idle.omitted_s, idle.start_ms) == (0, None)
    assert (up.omitted_s, up.start_ms) == (2, 200)
    assert up.rtt_ms is not None
    assert up.rtt_ms["p99"] == 30


@pytest.mark.parametrize(("trip_ms", "added", "letter"), [(12, 2, "A+"), (39, 29, "A"), (70, 60, "C"), (500, 490, "F")])
def test_bufferbloat_is_what_loads_add_to_the_idle_median(trip_ms: float, added: float, letter: str) -> None:
    found = line.bufferbloat_ms(_two_phases(trip_ms))
    assert found == pytest.approx(added)
    assert found is not None
    assert line.bufferbloat_grade(found) == letter
    assert letter in line.MEANING


def test_grades_fall_with_delay_and_loss() -> None:
    idle, up = (line.grade(phase) for phase in _two_phases(110))
    assert idle is not None
    assert up is not None
    assert (idle.shooter, up.shooter) == ("good", "degraded")
    assert idle.cloud_mos > up.cloud_mos
    assert idle.call_mos is not None
    assert up.call_mos is not None
    assert idle.call_mos > up.call_mos > 3


def test_without_the_server_losses_are_unknown_and_nothing_is_graded() -> None:
    client = _records((line.SENT, 0, 0, 100, 0, 0, 0), (line.ROUND_TRIP, 0, 0, 0, 0, 0.1, 10**7))
    (idle,) = line.phases(client, None, [("idle", 0, 2)])
    assert idle.rtt_ms is not None
    assert (idle.up.lost, idle.loss_percent, line.grade(idle)) == (None, None, None)
    assert line.bufferbloat_ms([idle]) is None
