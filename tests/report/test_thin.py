"""Reports of games over TCP: deliveries, retransmissions by number, and what sharing connections saves."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import gamelane
from gamelane import Results
from gamelane.plot.images import specification
from gamelane.report import thin
from gamelane.report.figures import figures
from gamelane.report.headline import headline
from gamelane.report.html import page
from gamelane.report.tables import summary_table
from gamelane.report.terminal import show

SMALL: dict[str, str | int | float] = {"duration": "120s", "flow.players.connections": 40}


@pytest.fixture(scope="module")
def shared() -> Results:
    base = gamelane.load("griwodz2006").with_(SMALL)
    variants = {
        f"{carriage} {loss}": {"flow.players.carriage": carriage, "flow.players.loss": loss}
        for carriage in ("direct", "mux")
        for loss in ("1%", "5%")
    }
    return gamelane.compare(base, variants)


def test_the_table_has_deliveries_retransmissions_and_cost(shared: Results) -> None:
    table = summary_table(shared, shared.flows[0])
    keys = [column.key for column in table.columns]
    assert keys == [
        "delivery_ms.p50", "delivery_ms.p99", "delivery_ms.p999", "delivery_ms.max",
        "nth.1", "nth.2", "nth.3", "wire.packets", "wire.bytes",
    ]  # fmt: skip
    direct = dict(zip(keys, (cell.mean for cell in table.rows[1].cells), strict=True))
    run = shared["direct 5%"].runs[0].summary["flows"]["players"]
    assert direct["delivery_ms.p999"] == run["thin"]["down"]["delivery_ms"]["p999"]
    assert direct["nth.1"] == run["thin"]["nth"]["1"]["total"]
    assert direct["wire.packets"] == (run["up"]["sent"] + run["down"]["sent"]) / 1e3
    assert direct["wire.bytes"] == (run["up"]["sent_bytes"] + run["down"]["sent_bytes"]) / 1e6


def test_the_table_is_whole_on_narrow_terminals(shared: Results) -> None:
    text = io.StringIO()
    show(shared, Console(file=text, width=100))
    assert "…" not in text.getvalue()
    assert "delivery median" in text.getvalue()


def test_figures_are_drawn_and_say_which_way_is_better(shared: Results) -> None:
    drawn = {figure.name: figure for figure in figures(shared)}
    for name in ("delivery-players", "retransmission-players", "savings-players"):
        assert "better" in drawn[name].caption
        assert specification(drawn[name])
        assert name in page(shared, list(drawn.values()))
    assert "[estimate]" in drawn["delivery-players"].caption


def test_bars_are_means_of_the_records(shared: Results) -> None:
    rows = thin._repaired(shared, shared.flows[0])
    first = rows.filter((rows["variant"] == "direct 5%") & (rows["number"] == "1st")).row(0, named=True)
    run = shared["direct 5%"].runs[0].summary["flows"]["players"]["thin"]
    assert first["mean"] == pytest.approx(run["nth"]["1"]["delay_ms_self"], rel=1e-6)


def test_savings_are_of_the_same_loss(shared: Results) -> None:
    rows = thin._saved(shared, shared.flows[0])
    assert rows["loss"].unique().sort().to_list() == [1, 5]
    assert set(rows["carriage"]) == {"mux"}
    assert rows.filter(rows["what"] == "packets")["saved"].min() > 30  # type: ignore[operator]


def test_without_a_shared_connection_there_is_no_figure_of_savings(shared: Results) -> None:
    alone = shared["direct 1%"]
    assert [figure.name for figure in thin.figures(alone, alone.flows[0])] == [
        "delivery-players",
        "retransmission-players",
    ]


def test_the_headline_is_about_late_messages(shared: Results) -> None:
    assert headline(shared).startswith("One message of players in a thousand takes more than")
    assert headline(shared["mux 1%"]).startswith("One message of players in a thousand takes more than")


def test_a_report_is_written(shared: Results, tmp_path: Path) -> None:
    from gamelane.report.write import write_report

    write_report(shared["direct 5%"], tmp_path)
    assert (tmp_path / "figures" / "retransmission-players.png").read_bytes().startswith(b"\x89PNG")
