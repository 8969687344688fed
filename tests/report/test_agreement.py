"""Whether engines agree: the bound, the order, the table people read, and the page with both of them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from rich.console import Console

import gamelane as library
from gamelane import Experiment, Results
from gamelane.plot.images import specification
from gamelane.plot.style import variant_looks
from gamelane.report.agreements import Agreement, agreements
from gamelane.report.document import document
from gamelane.report.figures import figures
from gamelane.report.headline import headline
from gamelane.report.html import commands, page
from gamelane.report.terminal import show
from tests.cli.command import gamelane

ROOT = Path(__file__).parents[2]

Both = Mapping[str, tuple[float, float]]
"""Median and 95th percentile by variant, in ms."""

SIM: Both = {"fifo": (530, 550), "pie": (51, 86), "fq_codel": (44, 51.5)}
SPREAD_MS = 0.2


@pytest.fixture(scope="module")
def three(short: Experiment) -> Results:
    queues = {name: {"gateway.*.queue": name} for name in SIM}
    return library.compare(short.with_(duration="3s"), queues, seeds=3)


def doctored(of: Results, engine: str, values: Both, *, seeds: int = 3) -> Results:
    """Results with these round trips, a little more with each seed."""

    def run(record: Any, name: str, number: int) -> Any:
        own = record.summary["flows"]["quake3"]
        p50, p95 = (value + SPREAD_MS * (number - 1) for value in values[name])
        flows = {**record.summary["flows"], "quake3": {**own, "rtt_ms": {**own["rtt_ms"], "p50": p50, "p95": p95}}}
        return replace(record, summary={**record.summary, "flows": flows})

    variants = (
        replace(
            variant,
            runs=tuple(run(record, variant.name, number) for number, record in enumerate(variant.runs[:seeds])),
        )
        for variant in of.variants
        if variant.name in values
    )
    frames = {name: frame.filter(pl.col("variant").is_in(list(values))) for name, frame in of.frames.items()}
    return replace(of, engine=engine, variants=tuple(variants), frames=frames)


def overlaid(three: Results, lab: Both, *, seeds: int = 3) -> Results:
    return library.overlay([doctored(three, "sim", SIM), doctored(three, "lab", lab, seeds=seeds)])


def only(results: Results) -> Agreement:
    (agreement,) = agreements(results)
    return agreement


def shown(results: Results, width: int = 120) -> str:
    text = io.StringIO()
    show(results, Console(file=text, width=width))
    return "\n".join(line.rstrip() for line in text.getvalue().replace("\N{MINUS SIGN}", "-").splitlines())


def test_the_bound_is_3_ms_or_10_percent_whichever_is_more(three: Results) -> None:
    at = only(overlaid(three, {"fifo": (583, 605.1), "pie": (48, 94.6), "fq_codel": (47, 54.6)}))
    within = {(row.variant, row.quantity): row.within for row in at.rows}
    assert within == {
        ("fifo", "p50"): True, ("fifo", "p95"): False,  # 10 % of 530 and 550
        ("pie", "p50"): True, ("pie", "p95"): True,
        ("fq_codel", "p50"): True, ("fq_codel", "p95"): True,  # 4.4 and 5.15 ms
    }  # fmt: skip
    low = only(
        library.overlay([doctored(three, "sim", {"pie": (20, 20)}), doctored(three, "lab", {"pie": (23, 23.1)})])
    )
    assert [row.within for row in low.rows] == [True, False]


def test_the_table_of_engines_that_agree(three: Results) -> None:
    text = shown(overlaid(three, {"fifo": (532, 551), "pie": (50.5, 90), "fq_codel": (44.4, 52)}))
    assert text.startswith("sim and lab agree on the RTT of the game quake3: all 6 medians and 95th percentiles")
    assert (
        _table(text)
        == """\
Do sim and lab agree on the game quake3?
                                  sim         lab  difference         within
          RTT                      ms          ms          ms      %  10 % or 3 ms
FIFO      median              530 ± 0     532 ± 0       +2.00  +0.38  yes
FIFO      95th percentile     550 ± 0     551 ± 0       +1.00  +0.18  yes
PIE       median           51.0 ± 0.5  50.5 ± 0.5       -0.50  -0.98  yes
PIE       95th percentile  86.0 ± 0.5  90.0 ± 0.5       +4.00  +4.65  yes
FQ-CoDel  median           44.0 ± 0.5  44.4 ± 0.5       +0.40  +0.91  yes
FQ-CoDel  95th percentile  51.5 ± 0.5  52.0 ± 0.5       +0.50  +0.97  yes
Order by the median, lowest first, identical: FQ-CoDel, PIE, FIFO.
Order by the 95th percentile, lowest first, identical: FQ-CoDel, PIE, FIFO."""
    )


def test_the_table_of_engines_that_do_not(three: Results) -> None:
    results = overlaid(three, {"fifo": (430, 551), "fq_codel": (580, 58)})
    text = shown(results, width=200)
    assert not only(results).agrees
    assert headline(results) == (
        "sim and lab do not agree on the RTT of the game quake3: 1 of 4 medians and 95th percentiles are within "
        "10 % or 3 ms; the largest difference is in the median of FQ-CoDel, 44.0 ms in sim and 580 ms in lab; "
        "the order of the variants differs."
    )
    assert (
        _table(text)
        == """\
Do sim and lab agree on the game quake3?
                                  sim         lab  difference         within
          RTT                      ms          ms          ms      %  10 % or 3 ms
FIFO      median              530 ± 0     430 ± 0        -100  -18.9  no
FIFO      95th percentile     550 ± 0     551 ± 0       +1.00  +0.18  yes
FQ-CoDel  median           44.0 ± 0.5     580 ± 0        +536  +1218  no
FQ-CoDel  95th percentile  51.5 ± 0.5  58.0 ± 0.5       +6.50  +12.6  no
Order by the median, lowest first, not identical: FQ-CoDel, FIFO in sim; FQ-CoDel and FIFO change places, 486 ms apart \
in sim and 150 ms in lab.
Order by the 95th percentile, lowest first, identical: FQ-CoDel, FIFO.
Only in sim: PIE."""
    )


def test_two_simulations_with_other_seeds_agree(short: Experiment, queues: Results) -> None:
    both = {name: {"gateway.*.queue": name} for name in ("fifo", "fq_codel")}
    other = replace(library.compare(short, both, seeds=[101, 102]), engine="lab")
    assert only(library.overlay([queues, other])).agrees


def test_variants_that_runs_do_not_tell_apart_may_change_places(three: Results) -> None:
    near: Both = {"fifo": (44.0, 550), "fq_codel": (44.1, 51)}
    far: Both = {"fifo": (44.1, 550), "fq_codel": (44.0, 51)}
    first, second = doctored(three, "sim", near), doctored(three, "lab", far)
    # Every seed of each source says the same: this order is sure, and another.
    (by_median, _) = only(library.overlay([first, second])).orders
    assert not by_median.identical
    assert by_median.contradicts
    # One run says nothing about 0.1 ms.
    single = library.overlay([first, doctored(three, "lab", far, seeds=1)])
    (by_median, _) = only(single).orders
    assert not by_median.identical
    assert by_median.swaps[0].told_apart == (True, False)
    assert only(single).agrees
    assert "only variants that the runs cannot distinguish change places" in headline(single)
    assert "change places, 0.10 ms apart in sim and 0.10 ms in lab, not distinguished by the runs of lab." in shown(
        single, 200
    )


def test_without_a_round_trip_nothing_is_said(three: Results) -> None:
    lab = doctored(three, "lab", SIM)
    silent = tuple(
        replace(
            variant,
            runs=tuple(
                replace(run, summary={**run.summary, "flows": {"upload": run.summary["flows"]["upload"]}})
                for run in variant.runs
            ),
        )
        for variant in lab.variants
    )
    results = library.overlay([doctored(three, "sim", SIM), replace(lab, variants=silent)])
    assert {row.within for row in only(results).rows} == {None}
    assert only(results).orders == ()
    assert not only(results).agrees
    assert "cannot be compared" in headline(results)
    assert "n/a" in shown(results)


def test_a_third_source_is_compared_with_the_first(three: Results) -> None:
    results = library.overlay([doctored(three, engine, SIM) for engine in ("sim", "lab", "live")])
    assert [(found.first, found.other) for found in agreements(results)] == [("sim", "lab"), ("sim", "live")]
    looks = variant_looks(results)
    assert [looks[f"fifo ({engine})"].label for engine in ("sim", "lab", "live")] == [
        "FIFO (sim)", "FIFO (lab)", "real packets (live)",
    ]  # fmt: skip
    assert len({look.colour for look in looks.values()}) == 3
    assert len({look.dash for look in looks.values()}) == len({look.shade for look in looks.values()}) == 3


def test_figures_have_both_engines_in_one_plot(three: Results) -> None:
    results = overlaid(three, {"fifo": (532, 551), "fq_codel": (44.4, 52)})
    drawn = {figure.name: figure for figure in figures(results)}
    (ecdf,) = drawn["ecdf-quake3"].panels
    scale = ecdf.chart.to_dict()["encoding"]["strokeDash"]["scale"]
    dashes = dict(zip(scale["domain"], map(tuple, scale["range"]), strict=True))
    assert dashes["fifo (sim)"] == dashes["pie (sim)"] != dashes["fifo (lab)"]
    assert [(key.label, bool(key.dash)) for key in drawn["ecdf-quake3"].legend] == [
        ("FIFO", False), ("PIE", False), ("FQ-CoDel", False), ("sim", True), ("lab", True),
    ]  # fmt: skip
    (boxes,) = drawn["box-quake3"].panels
    assert all(layer["encoding"]["yOffset"]["sort"] == ["sim", "lab"] for layer in boxes.chart.to_dict()["layer"][:1])
    assert [panel.column for panel in drawn["rtt-quake3"].panels] == [1, 2, 1, 1, 2]
    for figure in drawn.values():
        assert specification(figure)
    rows = specification(drawn["rtt-quake3"])["vconcat"][-1]["vconcat"]
    assert [len(row["hconcat"]) for row in rows] == [2, 1, 2]


def test_the_page_says_what_was_laid_over_what(three: Results, tmp_path: Path) -> None:
    for engine in ("sim", "lab"):
        doctored(replace(three, command=("gamelane", "run", "x.toml")), engine, SIM).write(tmp_path / engine)
    results = library.overlay([tmp_path / "sim", tmp_path / "lab"])
    assert commands(results) == [
        f"gamelane run x.toml -o {tmp_path / 'sim'}",
        f"gamelane run x.toml -o {tmp_path / 'lab'}",
        f"gamelane report {tmp_path / 'sim'} {tmp_path / 'lab'} -o both",
    ]
    text = re.sub(r"<script.*?</script>", "", page(results), flags=re.DOTALL)
    assert "Do sim and lab agree on the game quake3?" in text
    assert text.count("<td>95th percentile</td>") == 3
    assert "Real hosts differ from run to run" in text


def test_the_command_prints_and_writes_both(three: Results, tmp_path: Path) -> None:
    doctored(three, "sim", SIM).write(tmp_path / "sim")
    doctored(three, "lab", {"fifo": (430, 551), "fq_codel": (44, 52)}).write(tmp_path / "lab")
    folders = (tmp_path / "sim", tmp_path / "lab")
    done = gamelane("report", *folders, "-o", tmp_path / "both", "--export", "flent")
    assert done.returncode == 0, done.stderr
    assert "Do sim and lab agree on the game quake3?" in done.stdout
    assert f"report: {tmp_path / 'both' / 'report.html'}" in done.stderr
    assert (tmp_path / "both" / "figures" / "ecdf-quake3.svg").is_file()
    assert not list(tmp_path.glob("sim/report.html"))

    done = gamelane("report", *folders, "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    schema = json.loads((ROOT / "docs" / "schema" / "run.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(printed)
    assert printed == document(library.overlay(folders))
    assert printed["agreement"]["agree"] is False
    assert printed["agreement"]["pairs"][0]["rows"][0] == {
        "variant": "fifo", "quantity": "rtt_ms.p50", "within": False,
        "values": [{"mean": mean, "ci95": pytest.approx(0.497, abs=1e-3)} for mean in (530.0, 430.0)],
        "difference_ms": -100.0, "difference_percent": pytest.approx(-18.868, abs=1e-3),
    }  # fmt: skip


def test_the_command_refuses_early(three: Results, short: Experiment, tmp_path: Path) -> None:
    doctored(three, "sim", SIM).write(tmp_path / "sim")
    short.with_(duration="2s").run().write(tmp_path / "other")
    refusals = (
        ((tmp_path / "sim", tmp_path / "other"), "no variant is in both"),
        ((tmp_path / "sim", tmp_path / "sim"), "given twice"),
        ((tmp_path / "sim", tmp_path / "nowhere"), "does not hold records"),
        ((tmp_path / "sim", tmp_path / "other", "--export", "csv"), "--export with several folders needs"),
    )
    for words, complaint in refusals:
        done = gamelane("report", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert complaint in done.stderr


def _table(text: str) -> str:
    start = text.index("Do sim and lab")
    return text[start : text.index("\n\n", start)]
