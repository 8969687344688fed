"""Blind trials: the order, what is kept, and what ratings are made to say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from gamelane.errors import UsageError
from gamelane.trials import analysis, blind
from gamelane.trials.analysis import Rating
from gamelane.trials.blind import Condition, Session, Settings


def test_the_grids_are_those_of_table_two() -> None:
    full = blind.GRIDS["full"]()
    assert len(full) == len(set(full)) == 7 * 8
    axes = blind.GRIDS["axes"]()
    assert len(axes) == len(set(axes)) == 7 + 8 - 1
    assert all(each.delay_ms == 0 or each.loss_percent == 0 for each in axes)


@pytest.mark.parametrize("seed", range(20))
def test_an_order_has_each_condition_once_a_round_and_none_twice_in_a_row(seed: int) -> None:
    plan = blind.draw(Settings("axes", 3, 60, seed))
    assert set(Counter(plan.order).values()) == {3}
    for start in range(0, len(plan.order), 14):
        assert len(set(plan.order[start : start + 14])) == 14
    assert all(a != b for a, b in zip(plan.order, plan.order[1:], strict=False))
    assert plan == blind.draw(Settings("axes", 3, 60, seed))


def test_orders_differ_by_seed() -> None:
    assert blind.draw(Settings("full", 1, 60, 1)).order != blind.draw(Settings("full", 1, 60, 2)).order


def test_delay_is_half_each_way_and_the_rest_cleared() -> None:
    assert Condition(25, 3).settings() == ["--clear", "--delay", "12500us", "--loss", "3%"]


def test_a_trial_stops_goes_on_and_shows_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = blind.open_plan(tmp_path / "ann.json", Settings("axes", 1, 5, 3))
    was_set: list[Condition] = []
    waited: list[float] = []

    def session(answers: list[str]) -> Session:
        said = iter(answers)

        def ask(_: str) -> str:
            try:
                return next(said)
            except StopIteration:
                raise EOFError from None

        return Session(was_set.append, plan, tmp_path / "ann.jsonl", ask=ask, wait=waited.append)

    assert session(["3", "six", "0", "2"]).run() == 2
    assert was_set == list(plan.order[:3]), "the third was set, not rated"
    was_set.clear()
    assert session(["4"] * 12).run() == 14
    assert was_set == list(plan.order[2:])
    assert set(waited) == {5}
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "ms" not in shown.err
    assert "loss" not in shown.err
    entries = [json.loads(line) for line in (tmp_path / "ann.jsonl").read_text().splitlines()]
    assert [entry["rating"] for entry in entries] == [3, 2, *[4] * 12]
    assert [Condition(entry["delay_ms"], entry["loss_percent"]) for entry in entries] == list(plan.order)
    assert all(entry["set_unix_s"] <= entry["rated_unix_s"] for entry in entries)


def test_a_plan_is_kept_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "ann.json"
    plan = blind.open_plan(path, Settings("axes", 2, 60, None))
    assert blind.open_plan(path, Settings("axes", 2, 60, None)) == plan
    with pytest.raises(UsageError, match="was started there"):
        blind.open_plan(path, Settings("full", 2, 60, None))
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="not the plan"):
        blind.open_plan(path, Settings("axes", 2, 60, None))


def test_means_intervals_and_slopes_meet_hand_calculation() -> None:
    """Opinions 5, 4, 3 at 0, 100, 200 ms twice each, one apart: slope -1 per 100 ms."""
    values = {0: (5, 5), 100: (4, 4), 200: (3, 2)}
    found = analysis.analyse(
        [Rating("ann", Condition(delay, 0), value) for delay, pair in values.items() for value in pair]
    )
    last = found.conditions[-1]
    assert last.opinion.mean == 2.5
    # Student's t with one degree of freedom is 12.706; the standard error of (3, 2) is 0.5.
    assert last.opinion.ci95 == pytest.approx(12.706 * 0.5, rel=1e-4)
    delay, loss = found.sensitivities
    # Σ(x-x̄)(y-ȳ)/Σ(x-x̄)² = (-100·10 + 100·5)/40000 per ms.
    assert delay.per_step.mean == pytest.approx(-1.25)
    # Squared residuals about 5.0833, 3.8333, 2.5833 add up to 0.58333; stderr = sqrt(0.58333/4/40000) per ms.
    assert delay.per_step.ci95 == pytest.approx(2.7764 * (0.583333 / 4 / 40000) ** 0.5 * 100, rel=1e-4)
    assert delay.unacceptable_from == 200
    assert delay.rank_correlation is not None
    assert delay.rank_correlation < -0.9
    assert loss.per_step.mean is None
    assert "one player" in found.words()[-1]


def test_the_limit_is_where_opinion_stays_below_fair() -> None:
    ratings = {0: 5, 1: 2, 3: 4, 5: 3, 10: 2, 20: 1}
    found = analysis.analyse([Rating("ann", Condition(0, loss), value) for loss, value in ratings.items()])
    assert found.sensitivities[1].unacceptable_from == 10


def test_logs_become_tables_and_pictures(tmp_path: Path) -> None:
    plan = blind.draw(Settings("full", 1, 0, 7))
    for player, off in (("ann", 0), ("bob", 1)):
        lines = [
            {"number": n, "delay_ms": of.delay_ms, "loss_percent": of.loss_percent, "rating": max(1, 5 - off - n % 3)}
            for n, of in enumerate(plan.order)
        ]
        (tmp_path / f"{player}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = analysis.analyse(analysis.read(tmp_path))
    assert found.players == ("ann", "bob")
    assert len(found.conditions) == 56
    assert len(found.as_json()["conditions"]) == 56
    written = analysis.draw(found, tmp_path)
    assert [path.name for path in written] == ["opinion.png", "opinion.svg"]
    assert "no loss" in written[1].read_text(encoding="utf-8")


@pytest.mark.parametrize("line", ["{", '{"delay_ms": 1}', '{"delay_ms": 1, "loss_percent": 0, "rating": 6}'])
def test_a_damaged_log_is_refused_by_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "ann.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"ann\.jsonl, line 1"):
        analysis.read(tmp_path)
    with pytest.raises(UsageError, match="no ratings"):
        analysis.read(tmp_path / "nowhere")
