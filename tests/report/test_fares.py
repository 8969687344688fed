"""The table of all applications."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gamelane import Results, experiment
from gamelane.analysis.fares import Grade, applications
from gamelane.analysis.metrics import metrics
from gamelane.report import fares, terminal

PLAN = {"plan": "adsl-16-1", "with": "valorant,cs2,netflix-4k,twitch-live,photos-upload,web"}


@pytest.fixture(scope="module")
def crowded() -> Results:
    """Return a line of 1 Mbit/s up with an upload, and a broadcast that asks for six times as much."""
    crowd = experiment.load(presets=PLAN).with_({"duration": "20s"})
    return experiment.compare(crowd, {"pie": {"policy": "pie"}, "plain": {}})


def printed(results: Results, width: int) -> str:
    out = io.StringIO()
    terminal.show(results, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_every_application_has_the_figure_that_tells(crowded: Results) -> None:
    rows = {(row.application.name, row.figure.heading): row for row in fares.rows(crowded)}
    headings = [heading for name, heading in rows if name in ("netflix-4k", "twitch-live", "photos-upload", "web")]
    assert headings[:3] == ["stands still", "lost", "goodput"]
    video = rows["netflix-4k", "stands still"].cells[0]
    assert video.value.mean == 100
    assert video.grade is Grade.UNPLAYABLE
    assert rows["photos-upload", "goodput"].cells[0].grade is None


def test_a_narrow_terminal_has_fewer_columns_and_loses_no_variant(crowded: Results) -> None:
    wide, narrow = printed(crowded, 120), printed(crowded, 44)
    assert [line.split() for line in wide.splitlines()].count(["pie", "plain"]) == 1
    assert max(map(len, narrow[narrow.index("All applications") :].split("\n\n")[0].splitlines())) <= 44
    for word in ("pie", "plain", "✖"):
        assert word in narrow[narrow.index("All applications") :]


def test_a_game_beside_a_transfer_needs_no_table_of_all(alone: Results) -> None:
    assert fares.rows(alone) == []
    assert "All applications" not in printed(alone, 120)


def test_flows_of_one_preset_are_one_application_and_the_worst_speaks() -> None:
    flows = [("cs2", "game", "Counter-Strike 2, 10 players [estimate]")]
    flows += [
        ("cs2-2", "game", "Counter-Strike 2, 10 players [estimate]"),
        ("a", "bulk", "copy"),
        ("b", "bulk", "copy"),
    ]
    games, copies = applications(flows, 10.0)
    assert games.name == "cs2 (2)"
    assert list(games.figures[0].limits) == [50, 90, 150]
    late = {"flows.cs2.rtt_ms.p99": 20.0, "flows.cs2-2.rtt_ms.p99": 151.0}
    assert games.figures[0].of(late, metrics(late), games.flows) == 151
    grades = [games.figures[0].grade(value) for value in (50, 151, None)]
    assert grades == [Grade.GOOD, Grade.UNPLAYABLE, Grade.UNPLAYABLE]
    rates = {"flows.a.goodput_bps": 1e6, "flows.b.goodput_bps": 2e6}
    assert copies.figures[0].of(rates, metrics(rates), copies.flows) == 3
    assert copies.figures[0].grade(3) is None
