"""The matrix of `make agreement`: its cases, when figures agree, and its page. CI runs a part of it (.ci/run)."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.agreement import figures, page, results
from bench.agreement.figures import Figure
from bench.agreement.matrix import HERE, Case, cases

from gamelane import experiment


def test_every_case_has_its_own_name_and_is_a_scenario() -> None:
    every = cases([])
    assert len({case.name for case in every}) == len(every)
    files = {path: experiment.load(path) for path in {case.scenario for case in every}}
    flows = {"upload": 2, "downloads": 3, "web": 2, "video": 2, "mix": 4}
    for case in every:
        found = files[case.scenario].with_(case.keys).scenario.flows()
        assert len(found) == flows.get(case.words.get("load", ""), 1)


def test_starts_follow_the_seed_alone() -> None:
    mix, pie = cases(["fifo-100,pie", "12/1", "40", "mix", "households"])
    assert mix.keys_of(1)["flow.web.start"] == pie.keys_of(1)["flow.web.start"] != mix.keys_of(2)["flow.web.start"]
    for seed in range(20):
        starts = experiment.load(mix.scenario).with_(mix.keys_of(seed)).scenario.flows()
        assert 6.0 <= next(flow["start_s"] for flow in starts if flow["name"] == "web") <= 7.0


def test_words_choose_cases() -> None:
    chosen = cases(["pie,codel", "mix", "12/1", "households"])
    assert {case.words["queue"] for case in chosen} == {"pie", "codel"}
    assert len(chosen) == 6
    assert cases(["nothing"]) == []


@pytest.mark.parametrize(
    ("unit", "kernel", "sim", "agrees"),
    [
        ("ms", [10, 20], [12, 24], True),  # 3 ms
        ("ms", [100], [110], True),
        ("ms", [100], [110.1], False),
        ("%", [0.1], [0.6], True),
        ("%", [0.1], [0.61], False),
        ("%", [10], [11], True),
        ("Mbit/s", [10], [11], True),
        ("Mbit/s", [1], [0.89], False),
    ],
)
def test_figures_agree_within_a_tenth_or_the_least_difference(
    unit: str, kernel: list[float], sim: list[float], agrees: bool
) -> None:
    assert Figure("game", "what", unit, kernel, sim).agrees == agrees


def test_a_figure_that_one_side_lacks_is_a_miss() -> None:
    (only,) = figures.compared([{"web|transfer p50|ms": 1.0}, {}], [{}, {}])
    assert (list(only.kernel), list(only.sim), only.agrees) == ([1.0], [], False)


def test_figures_come_from_the_summary_of_a_run() -> None:
    household = experiment.load(HERE / "household.toml").with_({"duration": "8s"})
    found = figures.of_run(household.run(threads=1).variants[0].runs[0].summary)
    assert {name.split("|")[1] for name in found} >= {"RTT p50", "RTT p95", "loss up", "loss down", "goodput", "loss"}
    (goodput,) = figures.compared([{"upload|goodput|Mbit/s": 1.0}], [{"upload|goodput|Mbit/s": 2.0}])
    assert (goodput.flow, goodput.means) == ("upload", (1.0, 2.0))


def test_a_game_over_tcp_has_figures_of_its_messages() -> None:
    case = {"duration": "20s", "flow.players.loss": "5%"}
    summary = experiment.load(HERE / "thin.toml").with_(case).run(threads=1).variants[0].runs[0].summary
    found = figures.of_run(summary)
    assert 30 < found["players|delivery mean|ms"] < found["players|delivery p99|ms"]
    assert 3 < found["players|retransmitted segments|%"] < 20


def test_the_page_counts_what_agrees_and_why_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = {"queue": "pie", "rate": "12/1", "load": "mix", "rtt": "40", "tcp": "cubic"}
    both = {"sim": 1, "kernel": 1}
    case = Case("households", HERE, words, {}, both)
    found = [Figure("game", "RTT p50", "ms", [100], [100]), Figure("web", "goodput", "Mbit/s", [1], [2])]
    alone = [
        Figure("game", what, "ms", [value], []) for what, value in (("RTT p95", 70.4), ("loss up", 9), ("loss down", 1))
    ]
    found += [Figure("game", "RTT p95", "ms", [80], [80]), Figure("game", "loss up", "%", [2], [2])]
    found += [Figure("game", "loss down", "%", [1], [1])]
    outcomes = [
        results.Outcome(case, found),
        results.Outcome(Case("thin", HERE, {"loss": "5", "rtt": "60", "remedy": "linear"}, {}, both), found[:1]),
        results.Outcome(Case("households", HERE, words | {"queue": "dualpi2"}, {}, both), [], "no such queue\nhint"),
        results.Outcome(Case("bbr", HERE, words | {"tcp": "bbr"}, {}, {"kernel": 1}), alone),
    ]
    text = "".join(f"<!-- {mark} -->\nold\n<!-- end -->\n" for mark in ("shares", "figures", "bbr", "misses"))
    (tmp_path / "linux.md").write_text(text)
    monkeypatch.setattr(page, "PAGE", tmp_path / "linux.md")
    monkeypatch.setattr(page, "PLOT", tmp_path / "linux.svg")
    monkeypatch.setattr(page, "causes", lambda: [results.Cause({"flow": "web", "queue": "pie"}, "it rained")])
    page.write(outcomes)
    page.write(outcomes)
    written = (tmp_path / "linux.md").read_text()
    assert "**5 of 6 figures agree: 83.3%**, in 2 cases." in written
    assert "| pie | mix | 80 ms | 70 ms | 2.0 % | 9.0 % |" in written
    assert "| 1 | it rained |" in written
    assert "| linear | 100 % | 100 % |" in written
    assert "do not have them: dualpi2." in written or "does not have them: dualpi2." in written
    assert "old" not in written
    assert "<svg" in (tmp_path / "linux.svg").read_text()
    assert [line.split()[0] for line in results.lines(outcomes)] == [
        *("yes", "NO", "yes", "yes", "yes", "yes", "not", "-", "-", "-")
    ]


def test_a_miss_without_a_known_cause_is_chance_only_if_the_seeds_differ_as_much() -> None:
    case = cases(["households"])[0]
    scattered = Figure("web", "goodput", "Mbit/s", [1, 2], [1.1, 0.9, 2.1, 1.2, 1.9, 0.8, 1.0, 1.0])
    apart = Figure("web", "goodput", "Mbit/s", [2.0, 2.1], [1.1, 0.9, 1.2, 0.8, *(6 * [1.0])])
    once = Figure("web", "goodput", "Mbit/s", [2.0], [1.0 + seed / 100 for seed in range(40)])
    nothing = Figure("web", "transfer p50", "ms", [], [1.0])
    assert not any(figure.agrees for figure in (scattered, apart, once, nothing))
    assert results.cause_of(case, scattered, []) == results.CHANCE
    assert {results.cause_of(case, figure, []) for figure in (apart, once, nothing)} == {results.UNKNOWN}
    known = [results.Cause({"flow": "web"}, "it rained")]
    assert results.cause_of(case, scattered, known) == "it rained"


def test_bbr_runs_on_linux_alone() -> None:
    bbr, cubic = cases(["bbr,households", "pie", "12/1", "mix", "40"])[::-1]
    assert (bbr.compared, cubic.compared) == (False, True)
    assert results.share([results.Outcome(bbr, [Figure("game", "RTT p50", "ms", [1], [])])]).total == 0


def test_known_causes_name_words_of_the_matrix() -> None:
    every = cases([])
    for cause in results.causes():
        words = {key: value for key, value in cause.where.items() if key not in {"flow", "figure"}}
        assert any({"block": case.block, **case.words}.items() >= words.items() for case in every), cause.where
