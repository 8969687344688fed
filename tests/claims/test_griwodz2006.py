"""griwodz2006: what the checks rest on is right by itself."""

from __future__ import annotations

import pytest

from gamelane import experiment
from gamelane.claims import Paper
from gamelane.claims.evidence import Evidence
from gamelane.claims.griwodz2006 import SCENARIO
from gamelane.claims.griwodz2006.arms import GRID, Condition, bursts, modified, multiplexed, simplex
from gamelane.claims.griwodz2006.table2 import ITS_OWN_WORDS, _chance

ROWS = [claim for claim in Paper.read("griwodz2006").claims if len(claim.id.split(".")) == 6]


def test_the_table_is_whole() -> None:
    assert len(ROWS) == 16
    assert all(len(row.theirs) == 11 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_rows_that_contradict_themselves_are_the_ones_that_say_so(row: object) -> None:
    _, most, *counts = row.theirs  # type: ignore[attr-defined]
    sums = all(total == itself + included for total, itself, included in zip(*[iter(counts)] * 3, strict=True))
    consistent = sums and (most < 3 or counts[6] > 0)
    name = row.id.removeprefix("griwodz2006.t2.")  # type: ignore[attr-defined]
    assert consistent == (name not in ITS_OWN_WORDS)


def test_ten_per_cent_of_jitter_lies_around_the_delay() -> None:
    assert Condition(1, 100, 10).keys == {
        "link.rtt": "180ms",
        "flow.players.path_jitter": "20ms",
        "flow.players.loss": "1%",
    }


def test_bursts_keep_the_mean() -> None:
    begin, end = (float(value.removesuffix("%")) for value in bursts(5, 4).values())
    assert end == 25
    assert begin / (begin + end) == pytest.approx(0.05, rel=1e-3)


def test_chance_covers_a_count_seen_once() -> None:
    assert _chance(0) == 3
    assert _chance(100) == pytest.approx(19.6)


@pytest.fixture(scope="module")
def short() -> Evidence:
    """A tenth of the replay with a fifth of its connections."""
    base = experiment.load(SCENARIO).scenario.with_overrides([("duration", "200s"), ("flow.players.connections", "35")])
    return Evidence(base, repeats=1, threads=2)


@pytest.mark.parametrize("condition", GRID, ids=str)
def test_the_first_timeout_is_the_formula(short: Evidence, condition: Condition) -> None:
    delays = {
        kind: float(short.values(arm(condition), "flows.players.thin.nth.1.delay_ms_self")[0])
        for kind, arm in (("standard", simplex), ("modified", modified))
    }
    round_trip = 2 * condition.delay
    # The first timeout is three round trips, and an ACK of an earlier packet restarts the timer: later, not earlier.
    assert round_trip + 200 <= delays["standard"] < 3 * round_trip
    assert round_trip + min(round_trip / 2, 200) - 1 <= delays["modified"] < 1.02 * delays["standard"]


def test_sharing_a_connection_saves_most_packets(short: Evidence) -> None:
    direct, shared = (
        sum(float(short.values(arm(), f"flows.players.{way}.sent")[0]) for way in ("up", "down"))
        for arm in (simplex, multiplexed)
    )
    assert shared < 0.8 * direct  # 35 players fill fewer segments than 175
