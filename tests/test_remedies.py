"""Remedies: ranked on any game over TCP, each beside the scenario as it is."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gamelane import experiment
from gamelane.commands.remedies import show
from gamelane.errors import UsageError
from gamelane.remedies import PLAIN, REMEDIES, Cell, Ranking, rank
from gamelane.report.remedies import figures

from .cli.command import gamelane

LOSSES = (0.5, 1.0, 2.0, 5.0)
CHOSEN = ("timer modified", "timer rfc6298", "mux, 1 connection")


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    short = experiment.load("thin-remedies").with_(
        {"duration": "120s", "flow.players.connections": 40, "link.loss": "0%"}
    )
    return rank(short, losses=[2.0], burst=5.0, remedies=CHOSEN, seeds=1, threads=2)


def test_every_remedy_is_accepted() -> None:
    base = experiment.load("thin-remedies").scenario
    for keys in REMEDIES.values():
        base.with_overrides([(f"flow.players.{key}", value) for key, value in keys.items()])


def test_the_long_timeout_is_worse_than_the_modified_one(ranking: Ranking) -> None:
    assert set(ranking.order) == {PLAIN, *CHOSEN}
    assert ranking.order.index("timer modified") < ranking.order.index("timer rfc6298")
    modified, plain, long = (
        ranking.at(name, "random", 2.0).delivery_p99_ms.mean for name in ("timer modified", PLAIN, "timer rfc6298")
    )
    assert modified is not None
    assert plain is not None
    assert long is not None
    assert modified < plain < long


def test_costs_are_relative_to_the_scenario_as_it_is(ranking: Ranking) -> None:
    plain = ranking.at(PLAIN, "random", 2.0)
    assert plain.packets_percent.mean == plain.bytes_percent.mean == plain.delivered_percent.mean == 100
    shared = ranking.at("mux, 1 connection", "random", 2.0).packets_percent.mean
    assert shared is not None
    assert shared < 90


def test_bursts_have_the_mean_of_the_loss() -> None:
    keys = Cell("bursts", 2.0, 5.0).keys
    begin, end = (float(keys[f"link.loss.{key}"].removesuffix("%")) for key in ("good_to_bad", "bad_to_good"))
    assert end == 20
    assert begin / (begin + end) == pytest.approx(0.02, rel=1e-3)


def test_the_table_and_the_figures_name_every_remedy(ranking: Ranking) -> None:
    text = io.StringIO()
    show(ranking, Console(file=text, width=120))
    for name in ranking.order:
        assert name in text.getvalue()
    assert [figure.name for figure in figures(ranking)] == ["remedies", "savings"]
    assert all("better" in figure.caption for figure in figures(ranking))


def test_a_narrow_table_cuts_no_number(ranking: Ranking) -> None:
    """Regression: with four loss rates in 80 columns, numbers were cut and the costs were left out."""
    wide = replace(ranking, measured=tuple(replace(each, loss_percent=p) for each in ranking.measured for p in LOSSES))
    for columns, tail in ((80, "99 % ms"), (140, "99 / 99.9 % ms")):
        text = io.StringIO()
        show(wide, Console(file=text, width=columns))
        lines = text.getvalue().splitlines()
        assert max(map(len, lines)) <= columns
        assert "…" not in text.getvalue()
        assert any(line.split()[-2:] == ["%", "%"] and tail in line for line in lines)


def test_without_a_game_over_tcp_there_is_nothing_to_rank() -> None:
    with pytest.raises(UsageError, match="no game over TCP"):
        rank(experiment.load("household"), losses=[2.0], burst=5.0)


def test_the_command_writes_what_it_prints(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    text = (Path(experiment.__file__).parent / "scenarios" / "thin-remedies.toml").read_text()
    text = text.replace('duration = "600s"', 'duration = "20s"').replace('app = "mmo"', 'app = "mmo"\nconnections = 10')
    scenario.write_text(text)
    done = gamelane("remedies", scenario, "--loss", "2", "--repeat", "1", "--json", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert set(document["order"]) == set(document["remedies"]) == set(REMEDIES)
    assert len(document["measured"]) == 2 * len(REMEDIES)
    assert json.loads((tmp_path / "remedies.json").read_text()) == document
    assert "Delay with random loss" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "figures" / "remedies.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("loss", ["", "often", "0", "1,99"])
def test_impossible_losses_are_refused(loss: str) -> None:
    done = gamelane("remedies", "--loss", loss)
    assert done.returncode == 2
    assert "allowed: percentages" in done.stderr
