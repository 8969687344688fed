"""griwodz2006, sections 2 to 4.3: readings of the paper, and measures of the trace and of bulk transfers."""

from __future__ import annotations

import numpy as np
import pytest

from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding
from gamelane.claims.griwodz2006 import bulk
from gamelane.claims.griwodz2006.arms import Condition, simplex
from gamelane.claims.griwodz2006.readings import agreed, delays, mean_delay
from gamelane.claims.griwodz2006.testbed import _condition
from gamelane.claims.griwodz2006.trace import NO_LOSS, correlation, deliveries, trace

from .short import evidence

YES, NO, OPEN = Finding("reproduced", "1"), Finding("differs", "2", "too high"), Finding("cannot-tell", "3")
LOSSY = simplex(Condition(5, 100, 0))


@pytest.fixture
def short() -> Evidence:
    return evidence("griwodz2006")


@pytest.mark.parametrize("finding", [YES, NO, OPEN])
def test_readings_that_agree_decide(finding: Finding) -> None:
    assert agreed({"one": finding, "other": finding}, "nobody says").outcome == finding.outcome


@pytest.mark.parametrize("other", [NO, OPEN])
def test_readings_that_do_not_agree_decide_nothing(other: Finding) -> None:
    found = agreed({"with": YES, "without": other}, "nobody says")
    assert found.outcome == "cannot-tell"
    assert str(found.ours) == f"with: 1; without: {other.ours}"
    assert found.why.startswith("nobody says (with: agrees, without: ")


def test_packets_that_were_included_waited_less(short: Evidence) -> None:
    assert np.all(delays(short, LOSSY, 1, "all") < delays(short, LOSSY, 1, "alone"))
    assert np.all(mean_delay(short, LOSSY, "all") < mean_delay(short, LOSSY, "alone"))


def test_the_mean_of_all_numbers_lies_above_the_first(short: Evidence) -> None:
    assert np.all(mean_delay(short, LOSSY, "alone") > delays(short, LOSSY, 1, "alone"))


@pytest.mark.parametrize("condition", [Condition(1, 100, 0), Condition(5, 300, 10)], ids=str)
def test_the_condition_is_read_from_the_scenario(short: Evidence, condition: Condition) -> None:
    assert _condition(short, simplex(condition)) == (condition.loss, condition.delay, condition.jitter)


def test_losses_with_a_shared_cause_correlate(short: Evidence) -> None:
    """The claim of uncorrelated losses allows 0.01, so it can fail."""
    narrow = trace().with_(NO_LOSS | {"link.down": "24kbit", "gateway.down.limit": "20p"})
    shared = short.derived(narrow, "correlation", lambda run: correlation(run, 200))
    assert min(shared) > 0.01


def test_each_player_hasdeliveries_of_its_own_path(short: Evidence) -> None:
    least: list[list[float]] = short.derived(
        trace().with_(NO_LOSS), "least delays", lambda run: [float(each.min()) for each in deliveries(run).values()]
    )
    assert all(len(each) == 35 for each in least)
    # Half of the shortest and the longest round trip of the model: 60 and 390 ms.
    assert min(least[0]) == pytest.approx(30, abs=2)
    assert max(least[0]) == pytest.approx(195, abs=10)


def test_seeds_of_bulk_transfers_differ() -> None:
    """Regression: without any chance, five seeds were one run, and intervals had no width."""
    own = Evidence(bulk.scenario(), repeats=3, threads=2)
    assert len(set(own.values(Arm.of({"duration": "20s"}), "flows.one.goodput_bps"))) > 1
