"""Metrics by name, and bounds with units."""

from __future__ import annotations

import pytest

from gamelane import quantity
from gamelane.analysis.metrics import UnknownMetric, find, metrics
from gamelane.analysis.stats import Estimate
from gamelane.sweep.budget import Limit

COLUMNS = [
    "link.rtt",
    "flows.quake3.rtt_ms.p99",
    "flows.quake3.up.sent",
    "flows.quake3.up.lost",
    "flows.quake3.down.sent",
    "flows.quake3.down.lost",
    "flows.quake3.up.throughput_bps.cv",
    "flows.quake3.goodput_bps",
    "queues.up.drops.tail",
]


@pytest.mark.parametrize(
    ("name", "unit", "columns"),
    [
        ("p99(quake3.rtt)", "ms", ("flows.quake3.rtt_ms.p99",)),
        (" p99( quake3.rtt ) ", "ms", ("flows.quake3.rtt_ms.p99",)),
        ("flows.quake3.rtt_ms.p99", "ms", ("flows.quake3.rtt_ms.p99",)),
        ("quake3.goodput", "bit/s", ("flows.quake3.goodput_bps",)),
        ("cv(quake3.up.throughput)", "", ("flows.quake3.up.throughput_bps.cv",)),
        ("queues.up.drops.tail", "", ("queues.up.drops.tail",)),
    ],
)
def test_names(name: str, unit: str, columns: tuple[str, ...]) -> None:
    found = find(name, metrics(COLUMNS))
    assert (found.unit, found.columns) == (unit, columns)


def test_loss_is_of_both_directions_together() -> None:
    loss = find("quake3.loss", metrics(COLUMNS))
    row = {"flows.quake3.up.sent": 90, "flows.quake3.up.lost": 3, "flows.quake3.down.sent": 10}
    assert loss.of({**row, "flows.quake3.down.lost": 1}) == 0.04
    assert loss.of({"flows.quake3.up.sent": 0, "flows.quake3.up.lost": 0}) is None
    assert loss.unit == "share"


def test_fairness_is_jains_index_of_goodputs() -> None:
    columns = [*COLUMNS, "flows.upload.goodput_bps"]
    fairness = find("jain(quake3, upload)", metrics(columns))
    assert fairness.of({"flows.quake3.goodput_bps": 3e6, "flows.upload.goodput_bps": 1e6}) == pytest.approx(0.8)
    assert fairness.higher_is_better
    with pytest.raises(UnknownMetric):
        find("jain(quake3, nobody)", metrics(columns))


def test_an_opinion_is_the_g_model_of_ping_and_its_deviation() -> None:
    columns = ["flows.quake3.rtt_ms.mean", "flows.quake3.rtt_deviation_ms"]
    opinion = find("g_model(quake3)", metrics(columns))
    assert opinion.of({columns[0]: 50.0, columns[1]: 5.0}) == pytest.approx(3.35, abs=0.01)
    assert opinion.of({columns[0]: None, columns[1]: None}) is None
    assert opinion.higher_is_better
    with pytest.raises(UnknownMetric):
        find("g_model(quake3)", metrics(columns[:1]))


def test_a_name_that_is_none_has_a_hint() -> None:
    with pytest.raises(UnknownMetric) as refusal:
        find("p99(quake3.rrt)", metrics(COLUMNS))
    assert refusal.value.hint == "did you mean `p99(quake3.rtt)`?"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("80ms", "ms", 80.0),
        ("0.1 s", "ms", 100.0),
        ("1%", "share", 0.01),
        ("0.02", "share", 0.02),
        ("5mbit", "bit/s", 5e6),
        ("5mbit", "ms", None),
        ("fast", "ms", None),
        ("80", "ms", None),
    ],
)
def test_units(text: str, unit: str, value: float | None) -> None:
    assert quantity.parse(text, unit) == value


def test_a_budget_is_judged_by_the_whole_interval() -> None:
    limit = Limit("p99(quake3.rtt) <= 80ms", metrics(COLUMNS)["p99(quake3.rtt)"], "<=", 80.0)
    assert limit.judge(Estimate(70.0, 5.0)) is True
    assert limit.judge(Estimate(90.0, 5.0)) is False
    assert limit.judge(Estimate(78.0, 5.0)) is None
    assert limit.judge(Estimate(78.0, None)) is True
    assert limit.judge(Estimate(None, None)) is None
