"""Labels, numbers and the headline."""

from __future__ import annotations

import pytest

import gamelane
from gamelane import Experiment, Results
from gamelane.analysis.stats import Estimate
from gamelane.plot.style import flow_colours, half_width, number, variant_looks
from gamelane.report.headline import headline


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "n/a"), (0.0, "0"), (0.034, "0.03"), (5.678, "5.68"), (56.78, "56.8"), (567.8, "568"), (1e6, "1000000")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_half_width_has_the_decimals_of_its_mean() -> None:
    assert half_width(Estimate(56.78, 1.234)) == "1.2"
    assert half_width(Estimate(568.0, 1.6)) == "2"
    assert half_width(Estimate(5.0, None)) == ""


def test_the_headline_names_the_worst_and_the_best(queues: Results) -> None:
    text = headline(queues)
    peaks = {name: queues[name].summary["flows"]["quake3"]["rtt_ms"]["max"]["mean"] for name in ("fifo", "fq_codel")}
    assert f"highest RTT of the game quake3 is {number(peaks['fifo'])} ms with FIFO" in text
    assert f"and {number(peaks['fq_codel'])} ms with FQ-CoDel" in text
    assert "Mean of 2 runs" in text


def test_one_variant_has_a_headline_of_its_own(alone: Results) -> None:
    assert headline(alone).startswith("Behind FIFO the RTT of the game quake3 is")


def test_queues_keep_their_colours_whatever_is_compared(queues: Results, alone: Results) -> None:
    assert variant_looks(queues)["fifo"].colour == variant_looks(alone)["run"].colour
    assert variant_looks(queues)["fq_codel"].label == "FQ-CoDel"


def test_variants_of_one_queue_go_by_the_names_they_were_given(short: Experiment) -> None:
    found = gamelane.compare(short.with_(duration="2s"), {"slow": {"link.up": "1mbit"}, "fast": {"link.up": "20mbit"}})
    looks = variant_looks(found)
    assert [look.label for look in looks.values()] == ["slow", "fast"]
    assert len({look.colour for look in looks.values()}) == 2
    assert looks["fast"].detail == "link.up = 20mbit"


def test_flows_have_colours_of_their_own(alone: Results) -> None:
    assert len(set(flow_colours(alone.flows).values())) == len(alone.flows)
