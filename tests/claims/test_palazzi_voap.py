"""palazzi-voap: what the checks rest on is right by itself."""

from __future__ import annotations

import pytest

from gamelane import experiment
from gamelane.claims.evidence import Arm, Evidence, columns
from gamelane.claims.palazzi_voap import SCENARIO
from gamelane.claims.palazzi_voap.arms import (
    GOODPUT,
    WAITING,
    averaged,
    queue_delay,
    regular,
    thresholds,
    voap,
    with_thresholds,
)
from gamelane.claims.palazzi_voap.beyond import VEGAS_FIRST, VEGAS_SECOND
from gamelane.claims.palazzi_voap.law import LARGER_KIB, SMALL_KIB, _alone
from gamelane.claims.palazzi_voap.outcome import NEVER_EMPTY


@pytest.fixture(scope="module")
def short() -> Evidence:
    base = experiment.load(SCENARIO).scenario.with_overrides([("duration", "20s"), ("warmup", "5s")])
    return Evidence(base, repeats=1, threads=2)


def test_figures_average_fifty_runs_where_others_take_five() -> None:
    five = Evidence(experiment.load(SCENARIO).scenario, repeats=5, threads=1)
    assert len(averaged(five).seeds) == 50
    assert averaged(five) is averaged(five)
    five.stop()
    assert averaged(five)._stopped


def test_the_regular_access_point_knows_nothing_of_voap(short: Evidence) -> None:
    assert "voap" not in short.summaries(regular())[0]
    assert short.summaries(voap())[0]["voap"]["lowered"] > 1000


def test_thresholds_are_read_from_the_scenario(short: Evidence) -> None:
    assert thresholds(short, voap()) == (5, 15)
    assert thresholds(short, with_thresholds(5, 10)) == (5, 10)


@pytest.mark.parametrize("game", ["ut-2-3", "rome-1-3"])
def test_the_queue_goes_and_the_throughput_stays(short: Evidence, game: str) -> None:
    before, after = regular(game), voap(game)
    assert short.values(after, GOODPUT)[0] > 0.95 * short.values(before, GOODPUT)[0]
    assert queue_delay(short, after)[0] < 16 < queue_delay(short, before)[0]
    assert short.values(before, WAITING)[0] - short.values(after, WAITING)[0] > 90


def test_the_delay_counts_packets_of_both_flows(short: Evidence) -> None:
    arm = regular()
    mean = queue_delay(short, arm)[0]
    each = [short.values(arm, f"flows.{flow}.down.queue_delay_ms.mean")[0] for flow in ("download", "game")]
    assert min(each) <= mean <= max(each)
    samples = short.derived(arm, "delay", _mean_of_samples)[0]
    assert mean == pytest.approx(samples, rel=0.01)


def _mean_of_samples(run: object) -> float:
    delay = columns(run, "delay")  # type: ignore[arg-type]
    # What was sent after the warm-up arrives 40 ms and the queue later.
    late = (delay["direction"] == "down") & (delay["t_s"] - delay["one_way_ms"] / 1e3 >= 5)
    return float(delay["queue_delay_ms"][late].mean())


def test_a_buffer_as_large_as_the_window_is_never_empty_and_never_full(short: Evidence) -> None:
    """`util` compares VoAP with what the radio carries then."""
    arm = regular().with_(NEVER_EMPTY)
    assert short.derived(arm, "least waiting", _least_waiting)[0] > 0
    assert short.values(arm, "queues.down.drops.tail")[0] == 0


def _least_waiting(run: object) -> float:
    queues = columns(run, "queues")  # type: ignore[arg-type]
    return float(queues["packets"][(queues["direction"] == "down") & (queues["t_s"] >= 5)].min())


def test_a_small_window_makes_no_queue(short: Evidence) -> None:
    """`trigger` needs runs in which no packet waits longer than beta."""
    for kib in (SMALL_KIB, LARGER_KIB):
        assert short.values(_alone(voap(), kib), "flows.download.down.queue_delay_ms.max")[0] < 15


def test_vegas_is_one_of_two_downloads_without_a_game(short: Evidence) -> None:
    for arm, flow in ((VEGAS_FIRST, "download"), (VEGAS_SECOND, "second")):
        flows = [one for one in short.document(arm)["flow"] if one.get("enabled", True)]
        assert [one["name"] for one in flows] == ["download", "second"]
        assert [one["name"] for one in flows if one.get("tcp", {}).get("congestion") == "vegas"] == [flow]


def test_what_is_out_of_reach_is_counted(short: Evidence) -> None:
    out_of_reach = short.summaries(voap())[0]["voap"]["bytes"]
    video = 4_200_000 / 8 * 20
    assert out_of_reach["other"]["down"] == pytest.approx(video, rel=0.1)
    assert out_of_reach["tcp"]["down"] > 3 * video
    assert out_of_reach["tcp"]["up"] == 0  # only the data of downloads is steered


def test_a_flood_of_udp_is_beyond_it(short: Evidence) -> None:
    """What does not take windows fills the queue as if nobody were there."""
    flood = {"flow.game.rate": "40mbit"}
    delays = {arm: queue_delay(short, arm.with_(flood))[0] for arm in (regular(), voap())}
    assert delays[voap()] > 0.8 * delays[regular()] > 50


@pytest.mark.parametrize("relays", ["1", "2"])
def test_a_mesh_keeps_short_queues_at_every_hop(short: Evidence, relays: str) -> None:
    def waiting(arm: Arm) -> float:
        queues = short.summaries(arm.with_({"link.wifi.relays": relays}))[0]["queues"]
        down = [queue for name, queue in queues.items() if name == "down" or name.endswith("/down")]
        assert len(down) == 1 + int(relays)
        return sum(float(queue["backlog_packets"]["mean"]) for queue in down)

    assert waiting(voap()) < waiting(regular()) / 4
