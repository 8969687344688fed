"""The search: what it varies, what it seeks, what it recommends."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from gamelane import Experiment, UsageError
from gamelane.sweep.metrics import metrics
from gamelane.tune import objective, space
from gamelane.tune.objective import Aim, Wishes
from gamelane.tune.search import Effort, Found, Runner, Trial, pareto, search
from tests.cli.command import gamelane
from tests.needs import needs

pytestmark = needs(importlib.util.find_spec("optuna"), "Optuna is missing: pip install 'gamelane[tune]'")


@pytest.fixture(scope="module")
def runner(short: Experiment) -> Runner:
    return Runner(short.scenario, [7, 8], 2)


def _aim(runner: Runner, wishes: Wishes | None = None) -> Aim:
    before = runner.rows([{}])[0]
    return objective.aim(runner.scenario, metrics(before[0]), before, wishes or Wishes())


@pytest.fixture(scope="module")
def found(runner: Runner) -> Found:
    return search(runner, space.shipped(runner.scenario), _aim(runner), Effort(24), lambda _: None)


def test_what_ships_is_what_the_scenario_takes(short: Experiment) -> None:
    parameters = {each.key: each for each in space.shipped(short.scenario).parameters}
    assert set(parameters["gateway.*.queue"].values) >= {"fifo", "codel", "pie", "fq_codel", "fq_pie"}
    assert not parameters["gateway.*.target"].applies({"gateway.*.queue": "fifo"})
    assert parameters["gateway.*.target"].applies({"gateway.*.queue": "codel"})


def test_priority_voap_and_shaping_come_with_what_they_need(short: Experiment) -> None:
    parameters = {each.key: each for each in space.shipped(short.scenario).parameters}
    assert {"priority", "drr", "htb"} <= set(parameters["gateway.*.queue"].values)
    first = parameters["gateway.priority"]
    assert first.values == ('["quake3"]',)
    assert first.applies({"gateway.*.queue": "priority"})
    assert not first.applies({"gateway.*.queue": "fq_codel"})
    assert parameters["gateway.*.acks"].applies({"gateway.*.queue": "priority"})
    assert not parameters["gateway.*.acks"].applies({"gateway.*.queue": "fifo"})
    assert "false" in parameters["gateway.shape"].values
    assert '{ up = "950kbit", down = "11400kbit" }' in parameters["gateway.shape"].values
    on = {"gateway.voap": '{ data = "both" }'}
    for key in ("alpha", "beta", "step"):
        assert parameters[f"gateway.voap.{key}"].applies(on)
        assert not parameters[f"gateway.voap.{key}"].applies({"gateway.voap": "false"})


def test_whatever_is_suggested_is_a_scenario(short: Experiment) -> None:
    import optuna

    shipped = space.shipped(short.scenario)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    seen = set()
    for _ in range(150):
        settings = shipped.suggest(study.ask())
        short.scenario.with_overrides(list(settings.items()))
        seen.add(settings["gateway.*.queue"])
    assert seen == set(shipped.parameters[0].values)


def test_a_scenario_without_games_has_nobody_to_go_first(short: Experiment) -> None:
    alone = short.with_({"flow.quake3.enabled": "false"}).scenario
    keys = {each.key for each in space.shipped(alone).parameters}
    assert "gateway.voap" in keys
    assert "gateway.priority" not in keys


def test_a_key_this_gamelane_does_not_have_is_left_out(
    short: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "space.toml"
    listed.write_text("""
        [[parameter]]
        key = "gateway.hyperspace"
        values = ["on"]
        [[parameter]]
        key = "gateway.*.queue"
        values = ["fifo", "codel", "warp"]
        [[parameter]]
        key = "gateway.*.limit"
        from = "10p"
        to = "20p"
        beside = "gateway.hyperspace"
        [[parameter]]
        key = "gateway.*.target"
        values = ["5ms", "wide"]
        beside = "gateway.*.queue"
    """)
    monkeypatch.setattr(space, "SHIPPED", listed)
    queue, target = space.shipped(short.scenario).parameters
    assert (queue.key, queue.values) == ("gateway.*.queue", ("fifo", "codel"))
    assert dict(target.when) == {"gateway.*.queue": ("codel",)}


@pytest.mark.parametrize(
    ("table", "complaints"),
    [
        ('key = "link.up"\nvalue = ["1mbit"]', ["`parameter.value`", "did you mean `values`"]),
        ('values = ["on"]', ["`parameter.key`", "required"]),
        ('key = "link.up"', ["`values`, or `from` and `to`, or `shares`"]),
        (
            'key = "link.up"\nfrom = "1mbit"\nto = "2mbit"\nlog = "yes"',
            ["`parameter.log`", "given:   yes", "true or false"],
        ),
        ('key = "link.up"\nvalues = ["1mbit"]\nof = ["a"]', ["`of` needs `beside`"]),
    ],
)
def test_a_table_of_the_space_that_makes_no_sense_is_refused(
    table: str, complaints: list[str], short: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "space.toml"
    listed.write_text(f"[[parameter]]\n{table}\n")
    monkeypatch.setattr(space, "SHIPPED", listed)
    with pytest.raises(UsageError) as refusal:
        space.shipped(short.scenario)
    for complaint in complaints:
        assert complaint in str(refusal.value)


def test_words_come_from_the_scenario_format() -> None:
    assert set(space.words_of("gateway.*.queue")) >= {"fifo", "fq_codel"}
    assert "newreno" in space.words_of("tcp.congestion")
    assert space.words_of("link.up") == ()
    assert space.words_of("no.such") == ()


def test_a_person_adds_and_narrows(short: Experiment) -> None:
    base = space.shipped(short.scenario)
    wanted = space.with_searches(base, ["gateway.*.limit=50p..60p", "tcp.congestion=newreno,cubic"], short.scenario)
    parameters = {each.key: each for each in space.without(wanted, ["gateway.*.quantum"]).parameters}
    assert (parameters["gateway.*.limit"].low, parameters["gateway.*.limit"].high) == (50, 60)
    assert parameters["tcp.congestion"].values == ("newreno", "cubic")
    assert "gateway.*.quantum" not in parameters


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--search", "gateway.*.limit"], "not KEY=VALUES"),
        (["--search", "gateway.*.limit=60p..50p"], "the lower first"),
        (["--search", "gateway.*.limit=50p..60ms"], "same unit"),
        (["--search", "link.upp=1mbit,2mbit"], "did you mean"),
        (["--keep", "link.up"], "gateway.*.queue"),
        (["--goal", "p99(quake3.rtt)"], "not a goal"),
        (["--goal", "min p99(quake3.rrt)"], "did you mean `p99(quake3.rtt)`"),
        (["--bound", "upload.goodput"], "not a bound"),
        (["--bound", "upload.goodput >= 3ms"], "`3ms` is not a bound"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], complaint: str, short: Experiment, runner: Runner) -> None:
    given = dict(zip(words[::2], words[1::2], strict=True))
    with pytest.raises(UsageError) as refusal:  # noqa: PT012 - any of the three steps may refuse
        wanted = space.with_searches(
            space.shipped(short.scenario), [given["--search"]] if "--search" in given else [], short.scenario
        )
        space.without(wanted, [given["--keep"]] if "--keep" in given else [])
        goals, bounds = ([given[word]] if word in given else [] for word in ("--goal", "--bound"))
        _aim(runner, Wishes(goals, bounds))
    assert complaint in str(refusal.value)


def test_it_finds_that_flow_queues_save_the_game(found: Found) -> None:
    assert found.best is not None
    assert found.best.settings["gateway.*.queue"] in ("fq_codel", "fq_pie", "cake", "priority", "drr", "htb")
    before, after = (trial.goals(found.aim)[0].mean for trial in (found.before, found.best))
    assert before is not None
    assert after is not None
    assert after < before / 5
    assert found.change(0).clear
    assert found.best.broken(found.aim) == ()


def test_every_trial_within_the_bounds_is_on_the_front_or_beaten(found: Found) -> None:
    def point(trial: Trial) -> tuple[float, float]:
        delay, goodput = (of.mean for of in trial.goals(found.aim))
        assert delay is not None
        assert goodput is not None
        return delay, -goodput

    front = {point(trial) for trial in found.front}
    for trial in found.trials:
        if trial.broken(found.aim) or point(trial) in front:
            continue
        delay, goodput = point(trial)
        assert any(a <= delay and b <= goodput for a, b in front)
    assert not any(a != b and a[0] <= b[0] and a[1] <= b[1] for a in front for b in front)


def test_the_search_is_the_same_on_any_number_of_threads(found: Found, short: Experiment) -> None:
    alone = Runner(short.scenario, [7, 8], 1)
    again = search(alone, space.shipped(short.scenario), _aim(alone), Effort(24), lambda _: None)
    assert [trial.settings for trial in again.trials] == [trial.settings for trial in found.trials]


def test_bounds_decide_what_may_be_recommended(runner: Runner) -> None:
    aim = _aim(runner, Wishes(["min p99(quake3.rtt)"], ["upload.goodput >= 100mbit"]))
    found = search(runner, space.shipped(runner.scenario), aim, Effort(8), lambda _: None)
    assert (found.best, found.front) == (None, ())


def test_a_front_of_two_goals_by_hand(runner: Runner) -> None:
    aim = _aim(runner)

    def trial(number: int, delay: float, goodput: float) -> Trial:
        row = {"flows.quake3.rtt_ms.p99": delay, "flows.upload.goodput_bps": goodput}
        return Trial(number, {}, (row, row))

    trials = [trial(0, 50, 1e6), trial(1, 40, 9e5), trial(2, 60, 9e5), trial(3, 40, 8e5), trial(4, 90, 2e6)]
    assert [each.number for each in pareto(trials, aim)] == [1, 0, 4]


def test_ctrl_c_ends_the_search_with_what_was_found(runner: Runner) -> None:
    def enough(done: int) -> None:
        if done >= 16:
            raise KeyboardInterrupt

    found = search(runner, space.shipped(runner.scenario), _aim(runner), Effort(1000), enough)
    assert len(found.trials) == 16
    assert found.best is not None


def test_the_command(household: Path, tmp_path: Path) -> None:
    done = gamelane("tune", household, "--trials", "8", "--repeat", "2", "-o", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert json.loads((tmp_path / "tune.json").read_text()) == document
    assert len(document["trials"]) == 8
    assert document["best"]["settings"].keys() >= {"gateway.*.queue", "gateway.*.limit"}
    assert document["recommendation"].startswith("Set gateway.*.queue = ")
    assert document["apply"].keys() == {"tc", "openwrt", "gateway"}
    assert all(recipe["apply"] or recipe["unsaid"] for recipe in document["apply"].values())
    assert (tmp_path / "figures" / "pareto.png").read_bytes().startswith(b"\x89PNG")
    shown = gamelane("tune", household, "--trials", "8", "--repeat", "2", "--quiet", "--for", "gateway")
    assert "unchanged" in shown.stdout
    assert "gamelane gateway run" in shown.stdout
    assert shown.stderr == ""
