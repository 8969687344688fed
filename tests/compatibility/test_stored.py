"""Files that an earlier version wrote are read by this one, with the same numbers (docs/compatibility.md).

`files` has a folder for each version. Its files never change; README.md says how they were made.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import gamelane as library
from gamelane import programs
from gamelane.advise import measured, promised
from gamelane.errors import RecordsError, UsageError
from tests.cli.command import gamelane
from tests.needs import lacking

STORED = Path(__file__).parent / "files" / "0.1"
ROOT = Path(__file__).parents[2]
RUN_SCHEMA = ROOT / "docs" / "schema" / "run.schema.json"
GAME = "udp 10.9.0.1:{} 10.9.0.2:27960"
PINGS = "1 10.9.0.1:0 10.9.0.2:0"


def printed(*words: str | Path) -> Any:
    """Return the JSON that a command prints."""
    done = gamelane(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def stored(name: str) -> Any:
    return json.loads((STORED / name).read_text(encoding="utf-8"))


def keeps(before: Any, now: Any, *, values: bool, at: str = "") -> None:
    """Check that a document has every key of an earlier one, with the same kind of value, or with the same value."""
    if isinstance(before, dict):
        assert isinstance(now, dict), at
        if not at and now.get("schema") != before.get("schema"):
            assert now["schema"] > before["schema"]
            return
        assert before.keys() <= now.keys(), f"{at}: {sorted(before.keys() - now.keys())}"
        for key, value in before.items():
            keeps(value, now[key], values=values, at=f"{at}.{key}")
    elif isinstance(before, list):
        assert isinstance(now, list), at
        assert len(now) == len(before) if values else bool(now) == bool(before), at
        for index, (one, other) in enumerate(zip(before, now, strict=False)):
            keeps(one, other, values=values, at=f"{at}[{index}]")
    elif values:
        is_number = isinstance(before, int | float) and not isinstance(before, bool)
        assert now == (pytest.approx(before, rel=1e-9) if is_number else before), at
    elif before is not None and now is not None:
        assert kind(now) == kind(before), at


def kind(value: object) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the stored files: some commands write beside what they read."""
    return shutil.copytree(STORED, tmp_path / "stored")


def changed(file: Path, key: str, value: object) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    assert key in document
    file.write_text(json.dumps(document | {key: value}), encoding="utf-8")


@pytest.mark.parametrize("name", ["evening", "match", "home"])
def test_every_key_of_a_scenario_is_known(name: str) -> None:
    schema = jsonschema.Draft202012Validator(json.loads(gamelane("schema").stdout))
    scenario = tomllib.loads((STORED / f"{name}.toml").read_text(encoding="utf-8"))
    schema.validate(scenario)
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(scenario | {"no-such-key": 1})


def test_a_scenario_means_the_same_and_its_json_has_every_key() -> None:
    now = printed("run", STORED / "evening.toml")
    keeps(stored("run.json"), now, values=False)
    [run] = now["runs"]
    assert run["seed"] == 7
    apps = {name: flow["app"] for name, flow in run["flows"].items()}
    assert apps == {"shooter": "game", "call": "voip", "upload": "bulk", "pages": "web", "film": "dash"}
    assert run["queues"].keys() == {"up", "down", "modem", "isp"}
    assert run["autorate"].keys() == {"down"}
    # Five seconds after the warm-up, a packet of 73 B every 38 ms, and one of 155 B every 66 ms.
    game = run["flows"]["shooter"]
    assert (game["up"]["sent"], game["down"]["sent"]) == (pytest.approx(131, abs=2), pytest.approx(76, abs=2))
    assert game["up"]["sent_bytes"] == (73 + 28) * game["up"]["sent"]
    assert game["rtt_ms"]["p5"] > 30


@pytest.mark.parametrize("name", ["run.json", "report.json"])
def test_documents_keep_to_the_schema_of_today(name: str) -> None:
    schema = jsonschema.Draft202012Validator(json.loads(RUN_SCHEMA.read_text(encoding="utf-8")))
    schema.validate(stored(name))
    assert not schema.is_valid(stored(name) | {"schema": 99})


def test_records_give_the_same_report(copy: Path) -> None:
    keeps(stored("report.json"), printed("report", copy / "records"), values=True)
    page = (copy / "records" / "report.html").read_text(encoding="utf-8")
    assert "Does the upload delay the game?" in page
    results = library.read(copy / "records")
    assert {each.name: each.overrides["gateway.up.queue"] for each in results.variants} == {
        "fifo": "fifo",
        "fq_codel": "fq_codel",
    }
    heights = {name: results.frames[name].height for name in ("rtt", "delay", "windows", "drops", "tcp", "queues")}
    assert heights == {"rtt": 314, "delay": 751, "windows": 16, "drops": 20, "tcp": 80, "queues": 80}
    for name, variant in stored("report.json")["variants"].items():
        samples = results.rtt.filter(pl.col("variant") == name, pl.col("flow") == "shooter", pl.col("t_s") >= 0.5)
        assert samples["rtt_ms"].max() == pytest.approx(variant["runs"][0]["flows"]["shooter"]["rtt_ms"]["max"])


def test_a_sweep_gives_the_same_report_and_its_file_runs(copy: Path) -> None:
    keeps(stored("sweep.json"), printed("report", copy / "sweep"), values=True)
    done = gamelane("sweep", copy / "grid.toml", "-o", copy / "again", "-q")
    assert done.returncode == 0, done.stderr
    again = printed("report", copy / "again")
    keeps(stored("sweep.json")["cells"], again["cells"], values=False, at="cells")
    assert (again["finished_runs"], again["seeds"]) == (6, [7, 8])


def test_a_sweep_of_another_version_is_not_continued(copy: Path) -> None:
    changed(copy / "sweep" / "sweep.json", "gamelane", "0.0.9")
    done = gamelane("sweep", copy / "grid.toml", "-o", copy / "sweep")
    assert done.returncode == 2
    assert "its runs are from gamelane 0.0.9, and this is" in done.stderr
    assert "choose another folder with -o" in done.stderr


@pytest.mark.parametrize(("name", "port", "pings"), [("gateway", 51997, (12, 5, 7)), ("truth", 35957, (12, 6, 6))])
def test_a_recording_becomes_records(copy: Path, name: str, port: int, pings: tuple[int, int, int]) -> None:
    done = gamelane("report", copy / name, "--json")
    if name == "gateway" and "it was recorded by gamelane 0.1.0; use that version" in done.stderr:
        assert done.returncode == 2
        return  # Its own queues decide otherwise today. Linux's decisions are never made again.
    assert done.returncode == 0, done.stderr
    [run] = json.loads(done.stdout)["runs"]
    ways = {flow: [run["flows"][flow][way] for way in ("up", "down")] for flow in (GAME.format(port), PINGS)}
    counts = {flow: [(way["sent"], way["received"], way["lost"]) for way in both] for flow, both in ways.items()}
    arrived = pings[1]
    assert counts == {GAME.format(port): [(31, 31, 0), (19, 19, 0)], PINGS: [pings, (arrived, arrived, 0)]}
    assert run["queues"]["up"]["drops"]["tail"] == pings[2]
    assert ways[PINGS][0]["queue_delay_ms"]["max"] == pytest.approx(4, abs=1)


def test_records_of_real_packets_are_joined(copy: Path) -> None:
    ends = (copy / "traffic" / "here.rec", copy / "traffic" / "there.rec")
    done = gamelane("traffic", "join", copy / "match.toml", *ends, "-o", copy / "joined")
    assert done.returncode == 0, done.stderr
    results = library.read(copy / "joined")
    assert results.engine == "live"
    counts = results.frames["windows"].select("flow", "direction", "sent", "received", "lost", "bytes").rows()
    assert counts == [("shooter", "up", 27, 27, 0, 27 * (73 + 28)), ("shooter", "down", 16, 16, 0, 16 * (155 + 28))]
    assert results.rtt["rtt_ms"].max() == pytest.approx(0.598911)


def test_a_measurement_is_advised_and_its_promise_is_read(copy: Path) -> None:
    line = measured.read(copy / "line")
    assert (line.grade, line.host, [phase.name for phase in line.phases]) == (
        "D",
        "10.9.0.2:27970",
        ["idle", "up", "down", "both"],
    )
    promise = promised.read(copy / "line")
    assert promise is not None
    assert promise.recommendation == stored("line/advice/advice.json")["recommendation"]
    now = printed("advise", copy / "line", "--trials", "1", "--repeat", "1")
    keeps(stored("line/advice/advice.json"), now, values=False)
    keeps(stored("line/measure.json")["link"], now["link"], values=True, at="link")


def test_the_json_of_an_analysis_has_every_key() -> None:
    now = printed("analyze", STORED / "gateway" / "frames-0000.pcapng")
    keeps(stored("analyze.json"), now, values=False)
    assert now["captures"][0]["packets"] == stored("analyze.json")["captures"][0]["packets"]


@pytest.mark.parametrize(("file", "read"), [("measure.json", measured.read), ("advice/advice.json", promised.read)])
def test_a_later_measurement_or_advice_is_refused(copy: Path, file: str, read: Callable[[Path], object]) -> None:
    changed(copy / "line" / file, "schema", 99)
    with pytest.raises(RecordsError, match=f"{file}: `schema`: Input should be 1"):
        read(copy / "line")


def test_a_key_that_a_later_version_adds_to_records_is_left_out(copy: Path) -> None:
    manifest = copy / "records" / "manifest.json"
    document = json.loads(manifest.read_text(encoding="utf-8"))
    for entry in (variants := document["variants"]) + variants[0]["flows"] + variants[0]["runs"]:
        entry["later"] = 1
    manifest.write_text(json.dumps(document), encoding="utf-8")
    assert [each.name for each in library.read(copy / "records").variants] == ["fifo", "fq_codel"]


def test_a_configuration_of_the_proxy_is_read(copy: Path) -> None:
    try:
        program = programs.PROXY.find()
    except UsageError as error:
        lacking(str(error).splitlines()[0])
    config = copy / "near.toml"
    for text, code in ((config.read_text(encoding="utf-8"), 0), ("no-such-key = 1\n", 2)):
        config.write_text(text, encoding="utf-8")
        done = subprocess.run([program, "check", "near", config], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    ("folder", "file", "said"),
    [
        ("records", "manifest.json", "schema 99; this gamelane reads schema"),
        ("sweep", "sweep.json", "schema 99; this gamelane reads schema"),
        ("truth", "tap.json", "its schema is 99; this program reads schema"),
    ],
)
def test_a_later_version_is_refused_by_name(copy: Path, folder: str, file: str, said: str) -> None:
    changed(copy / folder / file, "schema", 99)
    done = gamelane("report", copy / folder)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_later_log_of_a_recording_is_refused(copy: Path) -> None:
    log = copy / "gateway" / "decisions-0000.log"
    log.write_bytes(log.read_bytes().replace(b"decisions 1\n", b"decisions 2\n", 1))
    done = gamelane("report", copy / "gateway")
    assert done.returncode == 2
    assert "not a log of decisions, or of another version" in done.stderr
