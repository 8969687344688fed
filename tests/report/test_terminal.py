"""The table on terminals of any width: labels and numbers stay whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import gamelane
from gamelane import Results
from gamelane.report.terminal import show


@pytest.mark.parametrize(("width", "intervals"), [(200, True), (80, True), (60, False)])
def test_nothing_is_cut(queues: Results, width: int, intervals: bool) -> None:
    text = io.StringIO()
    show(queues, Console(file=text, width=width))
    assert "…" not in text.getvalue()
    row = next(line for line in text.getvalue().splitlines() if line.startswith("FQ-CoDel "))
    assert (" ± " in row) == intervals
    assert len(row.replace(" ± ", "±").split()) == 7  # the label, four round trips, loss, goodput


@pytest.mark.parametrize(("width", "left_out"), [(100, 0), (80, 1), (60, 3)])
def test_columns_that_do_not_fit_are_named(width: int, left_out: int) -> None:
    """Regression: with nine columns, a game over TCP had only ellipses for headings in 80 columns."""
    thin = gamelane.load("thin-remedies").with_({"duration": "12s", "flow.players.connections": "20"})
    results = gamelane.compare(thin, {"direct": {}, "datagrams": {"flow.players.carriage": "datagrams"}})
    text = io.StringIO()
    show(results, Console(file=text, width=width))
    shown = text.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    said = shown.partition("Wider terminals also show ")[2].partition(".")[0]
    assert len(said.split(", ")) * bool(said) == left_out


def test_what_a_shaper_that_follows_did_is_a_table_of_its_own() -> None:
    variants: dict[str, dict[str, bool]] = {"fixed": {"gateway.autorate": False}, "follows": {}}
    results = gamelane.compare(gamelane.load("autorate").with_(duration="12s"), variants)
    text = io.StringIO()
    show(results, Console(file=text, width=120))
    table = text.getvalue().split("Shapers that follow the rate of their link")[1].splitlines()
    assert "down: mean rate" in table[1]
    fixed, follows = (next(line for line in table if line.startswith(name)).split() for name in variants)
    own = results.variants[1].runs[0].summary["autorate"]["down"]
    assert float(follows[1]) == pytest.approx(own["rate_bps"]["mean"] / 1e6, abs=0.05)
    assert [float(number) for number in follows[2:4]] == [own["lowered"], own["raised"]]
    assert not any(character.isdigit() for character in "".join(fixed[1:]))
