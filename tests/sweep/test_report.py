"""The report of a sweep: complete without a network, drawn by a browser, the same from the folder alone."""

from __future__ import annotations

import csv
import gzip
import html
import json
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from gamelane import Results
from gamelane.analysis.stats import estimate
from gamelane.report import flent
from gamelane.report.sweep import html as pages
from gamelane.report.sweep import overview, write_report
from gamelane.report.sweep.colours import Scale
from gamelane.report.sweep.figures import ROW, figures, heat
from gamelane.sweep import records
from gamelane.sweep.records import SweepRecords
from tests.browser import needs_browser, opened
from tests.cli.command import gamelane
from tests.report.outside import loaded_from_elsewhere

from .conftest import SWEEP

PLOTS = """
[plot.spread]
title = "Spread </script>"
kind = "box"
x = "link.rtt"
less = "link.rtt"
metric = "quake3.rtt"
panel = "gateway.*.queue"

[plot.map]
kind = "heat"
x = "link.rtt"
y = "gateway.*.queue"
metric = "quake3.loss"

[plot.curve]
x = "link.rtt"
colour = "gateway.*.queue"
metric = "upload.goodput"

[[detail]]
"gateway.*.queue" = "fifo"
"link.rtt" = "40ms"
"""


@pytest.fixture(scope="module")
def folder(household: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    # In six seconds CUBIC with HyStart would not fill the household's 100 packets, and a plot of losses needs some.
    (place / "sweep.toml").write_text(
        SWEEP.replace("{base}", str(household)) + '[set]\n"gateway.*.limit" = "30p"\n' + PLOTS
    )
    done = gamelane("sweep", place / "sweep.toml", "-o", place / "out")
    assert done.returncode == 0, done.stderr
    assert str(place / "out" / "report.html") in done.stderr
    return place / "out"


@pytest.fixture(scope="module")
def found(folder: Path) -> SweepRecords:
    return records.read(folder)


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    return (folder / "report.html").read_text()


def _data(text: str) -> dict[str, Any]:
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert held
    data: dict[str, Any] = json.loads(held.group(1))
    return data


def test_nothing_is_loaded_from_elsewhere(text: str) -> None:
    assert loaded_from_elsewhere(text) == []
    assert "Spread </script>" not in text


def test_the_page_comes_again_from_the_folder_alone(folder: Path, text: str, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(folder, copy)
    for name in ("report.html", "runs.parquet"):
        (copy / name).unlink()
    done = gamelane("report", copy)
    assert done.returncode == 0, done.stderr
    assert (copy / "report.html").read_text().replace(str(copy), str(folder)) == text


def test_the_page_has_every_run_and_what_repeats_it(found: SweepRecords, text: str) -> None:
    data = _data(text)
    assert sum(len(seeds) for seeds in data["run_seeds"]) == 12
    index = [metric["name"] for metric in data["metrics"]].index("p99(quake3.rtt)")
    column = found.frame["flows.quake3.rtt_ms.p99"].to_list()
    assert data["runs"][0][index] == pytest.approx(column[:2], rel=1e-3)
    shown = html.unescape(text)
    assert "gamelane sweep" in shown
    assert found.document["text"].splitlines()[1] in shown
    assert "[estimate]" in shown


def test_a_report_reads_the_columns_it_needs(found: SweepRecords, tmp_path: Path) -> None:
    own = records.read(found.folder)
    write_report(own, tmp_path)
    assert "frame" not in vars(own)
    assert 0 < len(own._columns) < len(own.schema) / 2


def test_the_command_of_a_cell_gives_its_numbers(found: SweepRecords) -> None:
    cell = found.cells[1]
    words = shlex.split(pages.command(found, dict(cell.values), 8))
    done = gamelane(*words[1:], "--json")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["runs"][0]
    assert run["flows"]["quake3"]["rtt_ms"]["p99"] == cell.of(found.metrics["p99(quake3.rtt)"])[8]


def test_the_map_is_of_means_and_counts_budgets(found: SweepRecords) -> None:
    metric = overview.default_metric(found)
    assert metric
    assert metric.name == "p99(quake3.rtt)"
    of = overview.layout(found)
    assert (found.dimensions[of.x].short, of.panels, of.averaged) == ("rtt", (), ())
    squares = overview.squares(found, metric, of)
    assert [(square.y, square.x) for square in squares][:4] == [
        ("fifo", "20ms"), ("fifo", "40ms"), ("fifo", "80ms"), ("fq_codel", "20ms"),
    ]  # fmt: skip
    own = found.frame.filter(pl.col("link.rtt") == "20ms", pl.col("gateway.*.queue") == "fifo")
    assert squares[0].value == pytest.approx(own["flows.quake3.rtt_ms.p99"].mean())
    assert squares[0].kept == (own["flows.quake3.rtt_ms.p99"].mean() <= 120)  # type: ignore[operator]
    assert squares[3].kept == 1


def test_comparisons_are_paired_over_seeds(found: SweepRecords) -> None:
    (queues,) = pages.comparisons(found)
    assert (queues["axis"], queues["base"]) == ("gateway.*.queue", "fifo")
    column = "flows.quake3.rtt_ms.p99"
    means = found.frame.group_by("gateway.*.queue", "seed").agg(pl.col(column).mean())
    values = {(queue, seed): value for queue, seed, value in means.iter_rows()}
    by_hand = estimate([values["fq_codel", seed] - values["fifo", seed] for seed in (7, 8)])
    assert queues["rows"][0]["of"].difference.mean == pytest.approx(by_hand.mean)
    assert queues["rows"][0]["of"].difference.ci95 == pytest.approx(by_hand.ci95)


def test_named_plots_are_drawn_and_say_which_way_is_better(found: SweepRecords, folder: Path) -> None:
    drawn = {figure.name: figure for figure in figures(found)}
    assert list(drawn) == ["overview", "spread", "map", "curve"]
    assert "minus link.rtt" in drawn["spread"].caption
    assert "Higher is better" in drawn["curve"].caption
    assert all("better" in figure.caption for figure in drawn.values())
    for name in drawn:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "figures" / f"{name}.svg").read_text()


def test_a_number_that_is_wider_than_its_square_is_turned_and_fits() -> None:
    """On a telephone, 14 queues leave 25 pixels each; numbers ran into each other and `1,245` lost its first digit."""
    queues = ["fifo", *(f"queue {number}" for number in range(13))]
    few, many = (_map_of(labels) for labels in (queues[:2], queues))
    for panel in (few, many):
        assert panel["layer"][1]["mark"]["angle"]["expr"] == "bandwidth('x') < 39 ? -90 : 0"
    assert few["height"] == 2 * ROW + 4
    assert many["height"] == 2 * 39 + 4


def _map_of(labels: Sequence[str]) -> dict[str, Any]:
    """Return the plot of a map whose largest number is 1,245 ms."""
    dimensions = [
        SimpleNamespace(labels=labels, short="queue"),
        SimpleNamespace(labels=["wired", "docsis"], short="kind"),
    ]
    metric = SimpleNamespace(unit="ms", higher_is_better=False)
    rows = [("", x, y, 1245.0 if place == 0 else 55.8) for place, x in enumerate(labels) for y in ("wired", "docsis")]
    records: Any = SimpleNamespace(dimensions=dimensions)
    (panel,) = heat(records, metric, (0, 1), rows)  # type: ignore[arg-type]
    found: dict[str, Any] = panel.chart.to_dict()
    return found


def test_exports(folder: Path, found: SweepRecords, tmp_path: Path) -> None:
    done = gamelane("report", folder, "-o", tmp_path, "--export", "csv", "--export", "flent", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["finished_runs"] == 12
    assert document["cells"][5]["budgets"] == {"p99(quake3.rtt) <= 120ms": True}
    assert pl.read_csv(tmp_path / "runs.csv").shape == found.frame.shape
    with (tmp_path / "cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert float(rows[0]["p99(quake3.rtt) mean"]) == document["cells"][0]["metrics"]["p99(quake3.rtt)"]["mean"]
    (path,) = (tmp_path / "flent").glob("*.flent.gz")
    held = json.loads(gzip.decompress(path.read_bytes()))
    assert held["version"] == 4
    assert {len(values) for values in held["results"].values()} == {len(held["x_values"])}
    assert "Ping (ms) quake3" in held["results"]
    bad = gamelane("report", folder, "--export", "cvs")
    assert bad.returncode == 2
    assert "did you mean `csv`" in bad.stderr


def test_flent_files_of_a_run_have_its_means(alone: Results, tmp_path: Path) -> None:
    seed = alone.runs[0].seed
    flent.write(tmp_path / "a", "x", flent.of_run(alone, "run", seed), duration_s=alone.duration_s)
    flent.write(tmp_path / "b", "x", flent.of_run(alone, "run", seed), duration_s=alone.duration_s)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    held = json.loads(gzip.decompress((tmp_path / "a").read_bytes()))
    raw = [sample["val"] for sample in held["raw_values"]["Ping (ms) quake3"]]
    own = alone.rtt.filter(pl.col("flow") == "quake3", pl.col("seed") == seed)
    assert raw == own["rtt_ms"].to_list()
    upload = [value for value in held["results"]["upload upload"] if value is not None]
    assert 0.5 < max(upload) <= 1.0


def test_a_few_extremes_do_not_grey_out_the_rest() -> None:
    scale = Scale.of([1.0, *[10.0] * 20, *[20.0] * 20, 7000.0], higher_is_better=False)
    assert (scale.low, scale.high, scale.log) == (10.0, 20.0, False)
    assert scale.share(7000.0) == 1.0
    assert scale.share(1.0) == 0.0
    better = Scale.of([1.0, 2.0], higher_is_better=True)
    assert better.share(2.0) == 0.0


def test_an_unfinished_sweep_says_so(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cut"
    shutil.copytree(folder, copy)
    (copy / "runs.parquet").unlink()
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "journal.jsonl").write_bytes(b"".join(lines[:5]))
    page = write_report(records.read(copy)).read_text()
    assert "Unfinished: 5 of 12 runs" in page


@needs_browser
def test_a_browser_without_a_network_draws_it_and_finds_things(text: str, tmp_path: Path) -> None:
    clicks = """<script>
      document.getElementById("filter").value = "fifo 40ms";
      document.getElementById("filter").dispatchEvent(new Event("input"));
      document.querySelector("#cells tbody tr").click();
      document.querySelectorAll("#cells thead th")[2].click();
    </script>"""
    before, _, after = text.rpartition("</body>")
    (tmp_path / "page.html").write_text(f"{before}{clicks}</body>{after}")
    dom = opened(tmp_path / "page.html", tmp_path / "profile")
    assert "1 of 6 combinations" in dom
    assert dom.count("<td tabindex") + len(re.findall(r'<td class="dark" tabindex', dom)) == 6
    assert 'aria-sort="ascending"' in dom
    assert "--set &#39;gateway.*.queue=fifo&#39;" in dom or "--set 'gateway.*.queue=fifo'" in dom
    assert ">This plot could not be drawn" not in dom
    # Plots of the page, and the four of the run's course over time.
    assert dom.count("<canvas") == 4 + 4
