"""palazzi-voap: what the checks rest on is right by itself."""

from __future__ import annotations

import pytest

from gamelane import experiment
from gamelane.claims.evidence import Arm, Evidence, columns
from gamelane.claims.palazzi_voap import SCENARIO
from gamelane.claims.palazzi_voap.arms import GOODPUT, WAITING, averaged, queue_delay, regular, voap


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
