"""Overlaid results: each variant appears once per source, and results that do not fit together are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import gamelane
from gamelane import Experiment, Results, UsageError
from gamelane.records.frames import TABLES


@pytest.fixture(scope="module")
def real(short: Experiment) -> Results:
    """The same household with other seeds; the engine is changed to `lab`."""
    both = {name: {"gateway.*.queue": name} for name in ("fq_codel", "fifo")}
    return replace(gamelane.compare(short, both, seeds=[101, 102]), engine="lab", gamelane="9.9.9")


@pytest.fixture(scope="module")
def folders(queues: Results, real: Results, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("overlaid")
    queues.write(place / "one")
    real.write(place / "two")
    return place / "one", place / "two"


def test_each_variant_stands_once_for_each_source(folders: tuple[Path, Path], queues: Results, real: Results) -> None:
    both = gamelane.overlay(folders)
    assert [variant.name for variant in both.variants] == [
        "fifo (sim)", "fifo (lab)", "fq_codel (sim)", "fq_codel (lab)",
    ]  # fmt: skip
    assert both.engine == "sim + lab"
    assert both.finished_runs == both.planned_runs == 8
    assert [(source.engine, source.gamelane, source.folder) for source in both.sources] == [
        ("sim", gamelane.version(), str(folders[0])), ("lab", "9.9.9", str(folders[1])),
    ]  # fmt: skip
    for table in TABLES:
        assert len(both.frames[table]) == len(queues.frames[table]) + len(real.frames[table])
    own, other = (pl.col("variant", "flow").cast(pl.String), real["fifo"].rtt)
    assert_frame_equal(
        both["fifo (lab)"].rtt.with_columns(own),
        other.with_columns(own).with_columns(variant=pl.lit("fifo (lab)")),
    )
    assert both["fifo (lab)"].summary == real["fifo"].summary


def test_overlaid_results_come_back_from_a_folder(folders: tuple[Path, Path], tmp_path: Path) -> None:
    both = gamelane.overlay(folders)
    both.write(tmp_path)
    again = gamelane.read(tmp_path)
    assert again == Results(**{**vars(both), "frames": again.frames})


def test_a_version_that_measured_is_kept(folders: tuple[Path, Path], tmp_path: Path) -> None:
    again = gamelane.read(folders[1])
    again.write(tmp_path)
    assert gamelane.read(tmp_path).gamelane == "9.9.9"


def test_sources_of_one_engine_go_by_version_then_by_folder_then_by_number(
    folders: tuple[Path, Path], queues: Results
) -> None:
    def names(of: Results) -> list[str]:
        return [source.name for source in of.sources]

    old = replace(queues, gamelane="0.0.1")
    assert names(gamelane.overlay([old, queues])) == ["sim 0.0.1", f"sim {gamelane.version()}"]
    assert names(gamelane.overlay([queues, queues])) == ["sim 1", "sim 2"]
    assert names(gamelane.overlay({"before": old, "after": queues})) == ["before", "after"]
    again = folders[0].with_name("three")
    queues.write(again)
    assert names(gamelane.overlay([folders[0], again])) == ["one", "three"]


def test_a_caveat_of_one_source_says_whose_it_is(queues: Results, real: Results) -> None:
    told = [
        replace(variant, flows=tuple(replace(flow, caveats=(*flow.caveats, "real hosts")) for flow in variant.flows))
        for variant in real.variants
    ]
    caveats = gamelane.overlay([queues, replace(real, variants=tuple(told))]).caveats
    assert "lab: real hosts" in caveats
    assert set(queues.caveats) < set(caveats)


def test_other_scenarios_are_refused_with_file_key_and_values(
    short: Experiment, queues: Results, tmp_path: Path
) -> None:
    longer = short.with_({"duration": "7s", "flow.upload.start": "3s"})
    only = gamelane.compare(longer, {"fifo": {"gateway.*.queue": "fifo"}})
    only.write(tmp_path / "other")
    with pytest.raises(UsageError) as refused:
        gamelane.overlay([queues, tmp_path / "other"])
    text = str(refused.value)
    assert f"{tmp_path / 'other' / 'manifest.json'}: duration of fifo is 7s; in sim 1 it is 6s" in text
    assert "flow.upload.start of fifo is 3s; in sim 1 it is 2s" in text
    assert "seed" not in text
    assert text.endswith("add --allow-differences to overlay them anyway")

    both = gamelane.overlay([queues, tmp_path / "other"], allow_differences=True)
    assert both.duration_s == 7
    assert any("flow.upload.start of fifo" in caveat for caveat in both.caveats)


def test_other_flows_are_refused(household: Path, alone: Results, tmp_path: Path) -> None:
    (tmp_path / "idle.toml").write_text(household.read_text().partition('[[flow]]\nname = "upload"')[0])
    idle = gamelane.load(tmp_path / "idle.toml").run()
    with pytest.raises(UsageError, match="flow is quake3; in sim 1 it is quake3, upload"):
        gamelane.overlay([alone, idle])
    both = gamelane.overlay([alone, idle], allow_differences=True)
    assert [flow.name for flow in both.flows] == ["quake3", "upload"]


def test_nothing_to_compare_is_refused(folders: tuple[Path, Path], queues: Results, alone: Results) -> None:
    with pytest.raises(UsageError, match="has no variants, sim 1 has fifo, fq_codel"):
        gamelane.overlay([queues, alone])
    with pytest.raises(UsageError, match="given twice"):
        gamelane.overlay([folders[0], folders[0].parent / "." / "one"])
    with pytest.raises(UsageError, match="1 results to overlay\n  allowed: 2 to 4"):
        gamelane.overlay([queues])
    with pytest.raises(UsageError, match="already an overlay of sim and lab"):
        gamelane.overlay([gamelane.overlay(folders), queues])
