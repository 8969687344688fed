"""Results in Python: named columns in readable units, and a summary over seeds."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

import gamelane
from gamelane import Experiment, Results, UsageError, _native


def test_every_table_has_its_columns(alone: Results) -> None:
    for table in _native.tables():
        names = [column["name"] for column in table["columns"]]
        assert alone.frames[table["name"]].columns == ["variant", "seed", *names]


def test_words_are_those_of_the_description(alone: Results) -> None:
    for table in _native.tables():
        for column in table["columns"]:
            if "words" in column:
                assert alone.frames[table["name"]].schema[column["name"]] == pl.Enum(column["words"])


def test_flows_and_directions_have_names(alone: Results) -> None:
    assert set(alone.windows["flow"].unique()) == {"quake3", "upload"}
    assert set(alone.windows["direction"].unique()) == {"up", "down"}
    assert isinstance(alone.rtt.schema["flow"], pl.Enum)


def test_units_are_seconds_and_milliseconds(alone: Results) -> None:
    game = alone.rtt.filter(pl.col("flow") == "quake3")
    assert 40 <= game["rtt_ms"].min() < 60  # type: ignore[operator]
    assert 5 < game["t_s"].max() <= 6.5  # type: ignore[operator]


def test_windows_count_what_was_sent(alone: Results) -> None:
    windows = alone.windows.filter(pl.col("flow") == "quake3", pl.col("direction") == "down", pl.col("seed") == 7)
    assert windows["t_s"].to_list() == [float(second) for second in range(len(windows))]
    assert windows["sent"][1] == pytest.approx(20, abs=1)  # a tick of 50 ms


def test_the_summary_is_the_mean_over_seeds(alone: Results) -> None:
    peaks = [run.summary["flows"]["quake3"]["rtt_ms"]["max"] for run in alone.runs]
    found = alone.summary["flows"]["quake3"]["rtt_ms"]["max"]
    assert found["mean"] == pytest.approx(sum(peaks) / 3)
    assert found["ci95"] > 0
    assert [run.seed for run in alone.runs] == [7, 8, 9]


def test_a_summary_agrees_with_the_samples(alone: Results) -> None:
    run = alone.runs[0]
    loaded = alone.rtt.filter(pl.col("flow") == "quake3", pl.col("seed") == run.seed, pl.col("t_s") >= alone.warmup_s)
    assert run.summary["flows"]["quake3"]["rtt_ms"]["max"] == pytest.approx(loaded["rtt_ms"].max())


def test_models_of_our_own_are_marked(alone: Results) -> None:
    game, upload = alone.flows
    assert game.label.endswith("[estimate]")
    assert "[" not in upload.label
    assert alone.caveats


def test_a_comparison_narrows_to_one_variant(queues: Results) -> None:
    narrowed = queues["fq_codel"]
    assert set(narrowed.rtt["variant"].unique()) == {"fq_codel"}
    assert narrowed.summary["flows"]["quake3"]["rtt_ms"]["max"]["mean"] > 0
    with pytest.raises(UsageError, match="did you mean `fq_codel`"):
        queues["fq_codle"]
    with pytest.raises(UsageError, match="choose one"):
        _ = queues.summary


def test_variants_may_leave_flows_out(short: Experiment) -> None:
    found = gamelane.compare(short, {"idle": {"flow.upload.enabled": "false"}, "busy": {}})
    assert [flow.name for flow in found.flows] == ["quake3", "upload"]
    assert set(found["idle"].windows["flow"].unique()) == {"quake3"}
    assert set(found["busy"].windows["flow"].unique()) == {"quake3", "upload"}


def test_overrides_may_be_keywords_or_a_mapping(short: Experiment) -> None:
    assert short.with_({"duration": "2s"}).scenario.duration_s == 2
    assert short.with_(**{"link.up": "2mbit"}).scenario.hash != short.scenario.hash


def test_explicit_seeds_and_nonsense(short: Experiment) -> None:
    quick = short.with_(duration="2s")
    assert [run.seed for run in quick.run(seeds=[3, 1]).runs] == [3, 1]
    with pytest.raises(UsageError, match="at least one"):
        quick.run(seeds=0)
    with pytest.raises(UsageError, match="no seed"):
        quick.run(seeds=[])


def test_the_parts_of_a_refusal_are_attributes(short: Experiment) -> None:
    with pytest.raises(gamelane.ScenarioError) as refusal:
        short.with_({"gateway.up.queue": "fq_codle"})
    assert refusal.value.key == "gateway.up.queue"
    assert refusal.value.value is not None
    assert "fq_codel" in str(refusal.value)


def test_the_schema_of_scenarios_is_json() -> None:
    assert "properties" in json.loads(gamelane.schema())


def test_drops_are_those_the_queues_counted(short: Experiment) -> None:
    found = short.with_({"warmup": "0s", "gateway.*.queue": "pie", "gateway.*.limit": "20p"}).run()
    counted = found.runs[0].summary["queues"]["up"]["drops"]
    listed = found.drops.filter(pl.col("direction") == "up")["reason"].cast(pl.String)
    assert (listed == "tail").sum() == counted["tail"]
    assert listed.is_in(["aqm-enqueue", "aqm-dequeue"]).sum() == counted["aqm"] > 0


def test_results_show_themselves_as_tables(queues: Results) -> None:
    shown = repr(queues)
    assert "FQ-CoDel" in shown
    assert "RTT median" in shown
    assert "\x1b" not in shown
    html = queues._repr_html_()
    assert html.count("<tr>") == 1 + len(queues.variants)
    assert "FQ-CoDel" in html
    assert "<html" not in html


def test_results_without_a_finished_run_say_so(queues: Results) -> None:
    none = replace(queues, variants=tuple(replace(each, runs=()) for each in queues.variants))
    assert repr(none) == none._repr_html_() == "short: no run finished"


def test_dir_names_everything_public() -> None:
    assert {name for name in dir(gamelane) if not name.startswith("__")} == set(gamelane.__all__)
