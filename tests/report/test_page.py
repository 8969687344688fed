"""The page: complete without a network, honest about models, and drawn by a real browser where there is one."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gamelane
from gamelane import Results
from gamelane.report import pages, series
from gamelane.report.figures import figures
from gamelane.report.html import page
from gamelane.report.write import write_report
from tests.browser import needs_browser, opened
from tests.report.outside import loaded_from_elsewhere


@pytest.fixture(scope="module")
def text(queues: Results) -> str:
    return page(queues)


def test_the_plotting_library_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "cache"
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: home / name)
    made = pages.library.__wrapped__()
    (kept,) = (home / "gamelane").iterdir()
    assert kept.read_text(encoding="utf-8") == made
    kept.write_text("kept", encoding="utf-8")
    assert pages.library.__wrapped__() == "kept"
    home = tmp_path / "file"
    home.touch()
    assert pages.library.__wrapped__() == made


def test_nothing_is_loaded_from_elsewhere(text: str) -> None:
    assert loaded_from_elsewhere(text) == []
    assert "@import" not in text


def test_plots_carry_their_data_and_cannot_end_their_script(text: str) -> None:
    found = re.search(r'<script type="application/json" id="plots">(.*?)</script>', text, re.DOTALL)
    assert found
    plots = json.loads(found.group(1))
    assert "rtt-quake3-0" in plots["panels"]
    assert "http" not in found.group(1)
    assert "</script> in a question" not in text
    assert "&lt;/script&gt; in a question" in text


def test_every_figure_of_a_model_of_ours_says_so(queues: Results, text: str) -> None:
    assert "[estimate]" in text
    for figure in figures(queues):
        if figure.name.endswith("quake3"):
            assert "[estimate]" in figure.caption


def test_every_caption_says_which_way_is_better(queues: Results) -> None:
    for figure in figures(queues):
        assert "better" in figure.caption or "less delay" in figure.caption, figure.name


def test_a_shaper_that_follows_is_drawn_beside_its_link() -> None:
    results = gamelane.load("autorate").with_(duration="25s").run()
    rates = results.rates
    assert set(rates["direction"]) == {"down"}
    links = rates.group_by("link_bps", maintain_order=True).agg(pl.col("t_s").min(), pl.col("shaped_bps").mean())
    # 12 Mbit/s, and 5 from 20 s on.
    assert links["link_bps"].to_list() == [12_000_000, 5_000_000]
    assert links["t_s"].to_list() == pytest.approx([0, 20], abs=0.2)
    assert links["shaped_bps"][0] > links["shaped_bps"][1]
    drawn = {figure.name for figure in figures(results)}
    assert "rate-down" in drawn
    assert "rate-up" not in drawn
    down = series.rates(results, results.variants[0], "down")
    assert set(down["what"]) == {"shaper", "link"}
    assert down.filter(pl.col("what") == "link")["v"].max() == 12


def test_the_page_says_how_to_repeat_it(queues: Results, text: str) -> None:
    assert "gamelane run" in text
    shown = html.unescape(text)
    for variant in queues.variants:
        assert variant.hash in shown
        assert variant.toml.splitlines()[0] in shown


def test_a_long_line_is_thinned_and_keeps_its_peak() -> None:
    t = np.arange(50_000) / 1000
    values = np.ones(50_000)
    values[31_234] = 99
    drawn = series.line(pl.DataFrame({"t_s": t, "v": values}), "v")
    assert len(drawn) <= series.POINTS
    assert drawn["v"].max() == 99


def test_pictures_are_written_and_stale_ones_go(queues: Results, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.png").touch()
    write_report(queues, tmp_path)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert "old.png" not in names
    assert {f"{figure.name}.{kind}" for figure in figures(queues) for kind in ("png", "svg")} == names
    assert (tmp_path / "figures" / "rtt-quake3.png").read_bytes().startswith(b"\x89PNG")


@needs_browser
def test_a_browser_without_a_network_draws_every_plot(queues: Results, tmp_path: Path) -> None:
    write_report(queues, tmp_path)
    dom = opened(tmp_path / "report.html", tmp_path / "profile", width=400)
    panels = sum(len(figure.panels) for figure in figures(queues))
    assert dom.count("<canvas") == panels
    assert ">This plot could not be drawn" not in dom


@needs_browser
@pytest.mark.parametrize(("events", "is_open"), [(["beforeprint"], True), (["beforeprint", "afterprint"], False)])
def test_a_printed_page_has_its_folded_parts(
    text: str, tmp_path: Path, events: Sequence[str], *, is_open: bool
) -> None:
    """A printer cannot unfold. After printing, the page is as before."""
    fired = "".join(f'window.dispatchEvent(new Event("{event}"));' for event in events)
    (tmp_path / "report.html").write_text(text.replace("</body>", f"<script>{fired}</script></body>"), encoding="utf-8")
    dom = opened(tmp_path / "report.html", tmp_path / "profile").partition("<main>")[2]
    folds = re.findall(r"<details[^>]*>(?=\s*<summary>(?!Contents))", dom)
    assert folds
    assert [" open" in fold for fold in folds] == [is_open] * len(folds)
