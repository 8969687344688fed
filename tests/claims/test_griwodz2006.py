"""griwodz2006: what the checks rest on is right by itself."""

from __future__ import annotations

import pytest

from gamelane import experiment
from gamelane.claims import Paper
from gamelane.claims.evidence import Evidence
from gamelane.claims.griwodz2006 import SCENARIO
from gamelane.claims.griwodz2006.arms import GRID, Condition, bursts, modified, multiplexed, simplex
from gamelane.claims.griwodz2006.bundling import NO_LOSS, RDB, _share_written_within_a_round_trip
from gamelane.claims.griwodz2006.further import _pairs
from gamelane.claims.griwodz2006.table2 import allowed_difference, contradictions

ROWS = [claim for claim in Paper.read("griwodz2006").claims if len(claim.id.split(".")) == 6]


def test_the_table_is_whole() -> None:
    assert len(ROWS) == 16
    assert all(len(row.theirs) == 11 for row in ROWS)


def test_five_rows_contradict_themselves() -> None:
    found = {row.id.removeprefix("griwodz2006.t2."): contradictions(row.theirs) for row in ROWS}
    assert {name: len(each) for name, each in found.items() if each} == {
        "standard.l1.d100.v10": 1,
        "standard.l1.d300.v0": 1,
        "standard.l1.d300.v10": 1,
        "modified.l1.d300.v0": 1,
        "modified.l1.d300.v10": 1,
    }
    assert found["standard.l1.d100.v10"] == ["the table's 1st total 4319 is not 3298 + 1030"]


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


def test_a_count_may_differ_by_a_share_or_by_chance() -> None:
    claim = ROWS[0]
    assert allowed_difference(0, claim) == 3
    assert allowed_difference(10, claim) == pytest.approx(6.2, abs=0.01)
    assert allowed_difference(1000, claim) == 300


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


def test_a_shared_cause_of_losses_correlates_the_connections(short: Evidence) -> None:
    """Bursts of the link hit neighbours in time, so different connections lose together."""
    bursts_of_link = {"flow.players.loss": "0%", "link.loss.good_to_bad": "1%", "link.loss.bad_to_good": "10%"}
    independent, together = (
        short.derived(simplex(Condition(5, 100, 0)).with_(change), "pairs", _pairs)[0][0]
        for change in ({}, bursts_of_link)
    )
    assert abs(independent) < 0.05 < together


def test_every_packet_written_before_the_acknowledgement_is_repeated(short: Evidence) -> None:
    lossless = simplex().with_(NO_LOSS)
    soon = short.derived(lossless, "soon", _share_written_within_a_round_trip)[0]
    thin = short.summaries(lossless.with_(RDB))[0]["flows"]["players"]["thin"]
    assert thin["bundled_copies"] / thin["packets"] == pytest.approx(soon, rel=0.05)
